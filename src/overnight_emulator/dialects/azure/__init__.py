"""Azure OpenAI: OpenAI's API under `/azure/openai/v1`, and with `?api-version=` under `/azure/openai`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aiohttp import web
from msgspec.structs import replace

from overnight_emulator.batches.batch import Batch
from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.lookalike.lines import LookalikeRows
from overnight_emulator.dialects.lookalike.live import LookalikeCalls, Places
from overnight_emulator.dialects.lookalike.speaking import speaking
from overnight_emulator.dialects.openai.accounts import KEY, bearer_key
from overnight_emulator.dialects.openai.batches import BatchRoutes
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.files import FileRoutes
from overnight_emulator.dialects.openai.rules import CHAT
from overnight_emulator.dialects.openai.terms import Terms
from overnight_emulator.identity import new_id
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth
from overnight_emulator.world import World

_NAME = "azure"
_PREFIX = "/azure/openai/v1"
_DATED = "/azure/openai"
_SHOWN = ("gpt-4.1-mini", "gpt-4o-batch", "gpt-5-mini")
_TERMS = Terms(endpoints=(CHAT,), ends_late=True)


class AzureRows(LookalikeRows):
    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:
        """There is an error file for every batch, also when it is empty."""
        kept = super().keep(store, batch, what, part, ended_at, now)
        if kept is not None or what != "errors":
            return kept
        file = StoredFile(
            id=new_id("file-"),
            dialect=batch.dialect,
            filename=f"{batch.id}_{what}.jsonl",
            purpose="batch_output",
            created_at=ended_at,
            expires_at=None,
            batch_id=batch.id,
        )
        store.path(file.id).write_bytes(b"")
        store.add_file(replace(file, bytes=0))
        return file.id


def _check_key(request: web.Request, truth: Truth) -> None:
    """A key of the resource, or a token of Entra's."""
    dated = not request.path.startswith(f"{_PREFIX}/")
    if dated and not request.query.get("api-version"):
        raise ApiError(404, "Resource not found", code="404")
    key = request.headers.get("api-key") or bearer_key(request)
    if not key or key in truth.keys.refuse:
        message = "Access denied due to invalid subscription key or wrong API endpoint."
        raise ApiError(401, message, code="401")
    request[KEY] = key


def _application(world: World) -> web.Application:
    calls = LookalikeCalls(world, Places("/chat/completions", "/models", _SHOWN))
    deployed = web.post("/deployments/{model}/chat/completions", calls.chat)
    files, batches = FileRoutes(world, _NAME), BatchRoutes(world, _NAME, _TERMS)
    return speaking(world, (*files.routes(), *batches.routes(), *calls.routes(), deployed), check=_check_key)


def _environment(origin: str) -> Mapping[str, str]:
    return {
        "AZURE_OPENAI_ENDPOINT": f"{origin}/azure",
        "AZURE_OPENAI_API_KEY": "emulator",
        "OPENAI_API_VERSION": "2025-04-01-preview",
    }


AZURE = Dialect(_NAME, _PREFIX, _application, AzureRows, _environment, more_prefixes=(_DATED,))
