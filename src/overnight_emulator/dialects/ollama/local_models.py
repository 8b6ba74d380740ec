"""The models of a local server: which there are, what is told of them, and which are in memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from overnight_emulator.dialects.ollama.errors import Refused
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.truth import Truth

_SHOWN = ("llama3.2:latest", "qwen3:8b", "nomic-embed-text:latest")
_CONTEXT = 131_072
_DIMENSIONS = 768


class LocalModels:
    """In the order in which they were loaded and pulled. A restart finds none in memory."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._loaded: dict[str, None] = {}
        self._pulled: dict[str, None] = {}

    def forget(self) -> None:
        self._loaded.clear()
        self._pulled.clear()

    def known(self, body: dict[str, Any]) -> str:
        """The model that a request names, if there is one of that name."""
        model = body.get("model") or body.get("name")
        if not isinstance(model, str) or not model:
            raise Refused(400, "model is required")
        if not exists(model, self._truth):
            raise Refused(404, f"model '{model}' not found")
        return model

    def load(self, model: str, keep_alive: object = None) -> bool:
        """Whether it is in memory afterwards."""
        stays = keep_alive not in (0, "0", "0s")
        if stays:
            self._loaded[full_name(model)] = None
        else:
            self._loaded.pop(full_name(model), None)
        return stays

    def pull(self, model: str) -> None:
        self._pulled[full_name(model)] = None

    def names(self) -> list[str]:
        return [name for name in dict.fromkeys((*_SHOWN, *self._pulled)) if exists(name, self._truth)]

    def listed(self) -> list[dict[str, Any]]:
        return [_listed(name) for name in self.names()]

    def running(self) -> list[dict[str, Any]]:
        return [
            {**_listed(name), "size_vram": 0, "expires_at": moment_text(0), "context_length": 4096}
            for name in self._loaded
        ]


def shown(model: str) -> dict[str, Any]:
    """What `/api/show` tells."""
    family = full_name(model).partition(":")[0].partition(".")[0].rstrip("0123456789")
    embeds = "embed" in model
    return {
        "license": "",
        "modelfile": f"FROM {full_name(model)}",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _details(family),
        "model_info": {
            "general.architecture": family,
            f"{family}.context_length": _CONTEXT,
            f"{family}.embedding_length": _DIMENSIONS,
        },
        "capabilities": ["embedding"] if embeds else ["completion", "tools", "thinking"],
        "modified_at": moment_text(0),
    }


def full_name(model: str) -> str:
    return model if ":" in model else f"{model}:latest"


def moment_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _details(family: str) -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": "1B",
        "quantization_level": "Q4_K_M",
    }


def _listed(name: str) -> dict[str, Any]:
    family = name.partition(":")[0]
    return {
        "name": name,
        "model": name,
        "modified_at": moment_text(0),
        "size": 1,
        "digest": "0" * 64,
        "details": _details(family),
    }
