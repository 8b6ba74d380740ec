"""OpenAI's API at one endpoint: batches through files, and live calls."""

from overnight.core.ask import Model
from overnight.providers.contract import Endpoint
from overnight.providers.openai.families import api_of
from overnight.providers.openai.format import LIMITS
from overnight.providers.openai_api.batches import Shape
from overnight.providers.openai_api.body import PATHS
from overnight.providers.openai_api.connection import FileBatchConnection, key_headers
from overnight.providers.openai_api.served import Batches, Calls
from overnight.providers.wire.http import Timeouts


def _url(model: Model) -> str:
    return PATHS[api_of(model)]


def _below_base(model: Model) -> str:
    """The base URL has the version already."""
    return _url(model).removeprefix("/v1")


_CALLS = Calls(name="openai", path=_below_base, models_query={"limit": "1"}, proved="accepts the key")
_BATCHES = Batches(shape=Shape(name="openai", title="OpenAI's"), endpoint=_url, retention_days=LIMITS.retention_days)


def connect(endpoint: Endpoint, timeouts: Timeouts | None = None) -> FileBatchConnection:
    account = {"OpenAI-Organization": endpoint.organization, "OpenAI-Project": endpoint.project}
    headers = key_headers(endpoint) | {header: value for header, value in account.items() if value}
    return FileBatchConnection(_CALLS, _BATCHES, endpoint, headers, timeouts)
