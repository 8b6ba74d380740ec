"""Mistral's API: files, batch jobs and chat completions, under `/mistral/v1`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.lookalike.bare_lines import UNREADABLE, read_line
from overnight_emulator.dialects.lookalike.live import LookalikeCalls, Places
from overnight_emulator.dialects.lookalike.speaking import speaking
from overnight_emulator.dialects.mistral.jobs import JobRoutes
from overnight_emulator.dialects.mistral.lines import MistralRows
from overnight_emulator.dialects.openai.accounts import key_of
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.files import FileRoutes, FileTerms
from overnight_emulator.store import StoredFile
from overnight_emulator.truth import Truth
from overnight_emulator.world import World

_NAME = "mistral"
_SHOWN = ("mistral-large-latest", "mistral-small-latest", "ministral-8b-latest", "magistral-medium-latest")
_SAMPLES = {"output": "batch_result", "errors": "batch_error"}


def _file(file: StoredFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": int(file.created_at),
        "filename": file.filename,
        "purpose": "batch",
        "sample_type": _SAMPLES.get(file.details.get("what", ""), "batch_request"),
        "source": "upload" if file.batch_id is None else "mistral",
        "num_lines": None,
        "expires_at": None,
        "deleted": False,
    }


def _check_lines(path: Path, _: Truth) -> None:
    """Every line is checked when a file comes; one that is wrong refuses the whole."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                good = isinstance(read_line(line).body["messages"], list)
            except (*UNREADABLE, LookupError, TypeError):
                good = False
            if not good:
                raise ApiError(422, f"Invalid file format. Line {number} is no request of a batch.")


def _check_key(request: web.Request, truth: Truth) -> None:
    key = key_of(request)
    if not key or key in truth.keys.refuse:
        raise ApiError(401, "Invalid API Key")


def _words(error: ApiError) -> dict[str, Any]:
    """`detail` is Mistral's word for what its gateway says; the API itself has an object of its own."""
    said = error.body["error"]
    if error.status in {401, 404, 422}:
        return {"detail": said["message"]}
    return {"object": "error", "message": said["message"], "type": said["type"], "param": None, "code": said["code"]}


def _application(world: World) -> web.Application:
    calls = LookalikeCalls(world, Places("/chat/completions", "/models", _SHOWN, counted=True))
    files = FileRoutes(world, _NAME, FileTerms(_file, _check_lines, None))
    routes = (*files.routes(), *JobRoutes(world, _NAME).routes(), *calls.routes())
    return speaking(world, routes, check=_check_key, words=_words)


def _environment(origin: str) -> Mapping[str, str]:
    """The SDK reads no variable for its address: this one is Overnight's; the SDK takes it as `server_url`."""
    return {"MISTRAL_BASE_URL": f"{origin}/mistral", "MISTRAL_API_KEY": "emulator"}


MISTRAL = Dialect(_NAME, "/mistral/v1", _application, MistralRows, _environment)
