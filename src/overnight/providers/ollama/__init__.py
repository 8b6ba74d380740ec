"""Ollama: local models by its own API, live, one model in memory at a time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from overnight.core.ask import Model
from overnight.providers.contract import Endpoint, Vendor
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.ollama.format import OllamaFormat

if TYPE_CHECKING:
    from overnight.providers.ollama.connection import OllamaConnection

__all__ = ["OllamaVendor", "provider"]

_GUIDE = """\
## ollama

| | |
|---|---|
| key | `OLLAMA_API_KEY`, only where the server wants one |
| address | `OLLAMA_HOST`, or `base_url` of a model; default `http://127.0.0.1:11434` |
| batches | none: `mode: live`, or `auto` |

Asked by `/api/chat`. `max_tokens` is sent as `num_predict`, `thinking` as `think` (off, on, or a level; a token
budget is refused), `json_schema` as `format`. The size of the context is set by `extra: {options: {num_ctx: 8192}}`:
a longer prompt is cut by the server without a word. `extra: {keep_alive: 1h}` keeps a model in memory for longer.

Models take turns: all rows of one are asked before the next is loaded, the one in memory first, and the others are
unloaded. How many calls run side by side is the server's own setting (`OLLAMA_NUM_PARALLEL`); Overnight finds it out.
"""


class OllamaVendor:
    """Ollama."""

    name = "ollama"
    key_variable = "OLLAMA_API_KEY"
    base_url_variable = "OLLAMA_HOST"
    default_base_url = "http://127.0.0.1:11434"
    models: tuple[str, ...] = ()
    emulator_path = "/ollama"
    format = OllamaFormat()

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own = model.key if model is not None else None
        address = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        wants_key = own is not None or environ.get(self.key_variable)
        return Endpoint(
            base_url=_address(address or self.default_base_url),
            key=found_key(environ, own or self.key_variable, "Ollama") if wants_key else "",
        )

    def connect(self, endpoint: Endpoint) -> "OllamaConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.ollama.connection import OllamaConnection  # noqa: PLC0415

        return OllamaConnection(endpoint)

    def guide(self) -> str:
        return _GUIDE


provider: Vendor = OllamaVendor()


def _address(given: str) -> str:
    """As Ollama's own programs read it: a host, a host with a port, or a whole address."""
    text = given.strip().rstrip("/")
    if "://" not in text:
        host, _, port = text.rpartition(":")
        text = f"http://{text}" if host and port.isdigit() else f"http://{text}:11434"
    address_parts(text, "OLLAMA_HOST or base_url", "http://127.0.0.1:11434")
    return text.replace("://0.0.0.0", "://127.0.0.1")
