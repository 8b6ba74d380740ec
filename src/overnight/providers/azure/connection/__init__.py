"""Azure OpenAI at one resource: OpenAI's API below a path of its own, with two kinds of sign-in."""

from urllib.parse import quote

from overnight.core.ask import Model
from overnight.providers.azure.connection.tokens import key_headers
from overnight.providers.contract import Endpoint
from overnight.providers.openai_api.batches import Shape
from overnight.providers.openai_api.body import PATHS
from overnight.providers.openai_api.connection import FileBatchConnection
from overnight.providers.openai_api.served import Batches, Calls
from overnight.providers.wire.http import Timeouts


def connect(endpoint: Endpoint, timeouts: Timeouts | None = None) -> FileBatchConnection:
    """The v1 API, or the dated one where a version is named: there a call's path names the deployment."""
    version = endpoint.location
    api = "/openai" if version else "/openai/v1"

    def chat(model: Model) -> str:
        deployment = f"/deployments/{quote(model.name, safe='')}" if version else ""
        return f"{api}{deployment}/chat/completions"

    proved = "accepts the key" if endpoint.key else "accepts the sign-in"
    calls = Calls(name="azure", path=chat, models_path=f"{api}/models", proved=proved)
    batches = Batches(
        shape=Shape(name="azure", title="OpenAI's"),
        endpoint=lambda _: PATHS["chat"],
        files_path=f"{api}/files",
        batches_path=f"{api}/batches",
    )
    query = {"api-version": version} if version else None
    return FileBatchConnection(calls, batches, endpoint, key_headers(endpoint), timeouts, query)
