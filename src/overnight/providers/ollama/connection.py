"""One Ollama server: live calls, and the models in its memory."""

import msgspec

from overnight.core.ask import Model
from overnight.providers.contract import Endpoint, Reply
from overnight.providers.reading.patient_json import UNREADABLE
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Wire

_json = msgspec.json.Encoder()


class _Loaded(msgspec.Struct):
    name: str


class _Running(msgspec.Struct):
    models: list[_Loaded] = []


class OllamaConnection:
    """One Ollama server."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        proof = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._wire = Wire("ollama", endpoint.base_url, proof, secret=endpoint.key)
        self._live = LiveWire(endpoint.base_url, proof, secret=endpoint.key)

    async def call(self, model: Model, body: bytes) -> Reply:  # noqa: ARG002 - the body says it all
        return await self._live.call("/api/chat", body)

    async def loaded(self) -> list[str]:
        """The models in memory."""
        reply = await self._wire.ask("list", "GET", "/api/ps")
        try:
            return [one.name for one in msgspec.json.decode(reply.body, type=_Running).models]
        except UNREADABLE:
            return []

    async def unload(self, model_name: str) -> None:
        await self._live.call("/api/generate", _json.encode({"model": model_name, "keep_alive": 0}))

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", "/api/tags")
        return f"ollama answers at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()
