"""Anthropic: messages, in Message Batches or live. Nothing is uploaded, and a batch carries no tag."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from overnight.core.ask import Ask, Model
from overnight.core.errors import Gone, ProviderError, StudyError
from overnight.core.result import Line
from overnight.providers.anthropic import body as _anthropic_body
from overnight.providers.anthropic import live as _anthropic_live
from overnight.providers.anthropic import rows as _anthropic_rows
from overnight.providers.anthropic.batches import LIMITS, create_refusal, read_batch, read_page
from overnight.providers.anthropic.families import NEWEST, OLDER, version_of
from overnight.providers.anthropic.guide import guide
from overnight.providers.anthropic.problems import problems
from overnight.providers.contract import (
    Batch,
    CreateAnswer,
    Endpoint,
    Fence,
    Intent,
    Limits,
    Ours,
    ReadyLine,
    Reply,
    Sightings,
    Vendor,
)
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.reading.listing import Page, back_to, first_page
from overnight.providers.wire.bodies import Envelope
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Timeouts, Wire
from overnight.providers.writing import ByModel

__all__ = ["Anthropic", "AnthropicVendor", "provider"]

_MESSAGES = "/v1/messages"
_BATCHES = "/v1/messages/batches"
_PAGE = "100"


class Anthropic:
    """Anthropic's API at one endpoint."""

    name = "anthropic"
    tags = False

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        self._forms = ByModel(_anthropic_body.form_of)
        key, workspace = endpoint.key, endpoint.project
        where = {"anthropic-workspace-id": workspace} if workspace else {}
        # Each version with the header that its own SDKs prove themselves by.
        proofs = {NEWEST: {"Authorization": f"Bearer {key}"}, OLDER: {"x-api-key": key}}
        headers = {version: {**proof, "anthropic-version": version, **where} for version, proof in proofs.items()}
        address = endpoint.base_url
        self._wires = {
            version: Wire(self.name, address, own, secret=key, timeouts=timeouts) for version, own in headers.items()
        }
        self._lives = {
            version: LiveWire(address, own, secret=key, rates=_anthropic_live.rates_of)
            for version, own in headers.items()
        }
        self._wire = self._wires[NEWEST]

    def limits(self, model: Model) -> Limits:  # noqa: ARG002 - the contract's; here all models are alike
        return LIMITS

    def problems(self, model: Model) -> list[str]:
        return problems(model)

    def encode(self, ask: Ask) -> bytes:
        return _anthropic_body.encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:  # noqa: ARG002 - the body says it all
        return _anthropic_body.line(custom_id, body)

    def decode(self, line: bytes) -> Line:
        return _anthropic_rows.decode(line)

    def read_line(self, line: bytes) -> ReadyLine:
        return _anthropic_body.read_line(line)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return _anthropic_live.live_line(custom_id, reply)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:  # noqa: ARG002 - there are no files
        """A batch has neither tag nor input to know it by, only a number of requests; 0 is a number not told."""
        return "maybe" if batch.counts.total in (0, intent.rows) else "no"

    async def upload(self, intent: Intent) -> str:  # noqa: ARG002 - the requests travel with the create
        return ""

    async def newest(self) -> Sightings:
        return await first_page(lambda cursor: self._page(_PAGE, cursor))

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:  # noqa: ARG002 - there are no files
        wire = self._wires[version_of(intent.model)]
        sending = await wire.send_once("create", _BATCHES, Envelope(b'{"requests":[', intent.file, b"]}"))
        reply = sending.reply
        if reply is None:
            return CreateAnswer(sent=sending.sent, status=sending.status, problem=sending.problem)
        if not reply.ok:
            return CreateAnswer(
                sent=True,
                status=reply.status,
                refusal=create_refusal(reply, self.endpoint.key),
                problem=wire.explain(f"POST {_BATCHES}", reply),
            )
        try:
            return CreateAnswer(sent=True, status=reply.status, batch=self._read(reply.body))
        except ProviderError as error:
            return CreateAnswer(sent=True, status=reply.status, problem=str(error))

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return await back_to(fence, pages, lambda cursor: self._page(_PAGE, cursor))

    async def _page(self, limit: str, after: str | None = None) -> Page:
        query = {"limit": limit} if after is None else {"limit": limit, "after_id": after}
        reply = await self._wire.ask("list", "GET", _BATCHES, query=query)
        return read_page(reply.body, self.endpoint.base_url, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", _at(batch_id), also=(404,))
        return self._read(reply.body) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """From where the provider says; results at another origin that want a key are asked for at our address."""
        batch_id, _, elsewhere = ref.partition(" ")
        if elsewhere:
            reply = await self._wire.download(elsewhere, sink, also=(401, 403, 404))
            if reply.ok:
                return reply.length
        reply = await self._wire.download(f"{_at(batch_id)}/results", sink, also=(404, 410))
        if not reply.ok:
            days = LIMITS.retention_days
            raise Gone(f"anthropic no longer keeps the results of {batch_id}: they are deleted after {days} days")
        return reply.length

    async def cancel(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("cancel", "POST", f"{_at(batch_id)}/cancel", also=(400, 404, 409))
        if reply.ok:
            return self._read(reply.body)
        # A batch that has ended meanwhile cannot be cancelled: what it has become is the answer.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        """There are no files: a create that is under way cannot be kept from running."""

    async def knows_file(self, file_id: str) -> bool:  # noqa: ARG002 - there are no files
        return False

    async def call(self, model: Model, body: bytes) -> Reply:
        return await self._lives[version_of(model)].call(_MESSAGES, body)

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", "/v1/models", query={"limit": "1"})
        return f"anthropic accepts the key at {self.endpoint.base_url}"

    async def close(self) -> None:
        for wire in self._wires.values():
            await wire.close()
        for live in self._lives.values():
            await live.close()

    def _read(self, body: bytes) -> Batch:
        return read_batch(body, self.endpoint.base_url)


class AnthropicVendor:
    """Anthropic, before it is given an endpoint."""

    name = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    base_url_variable = "ANTHROPIC_BASE_URL"
    default_base_url = "https://api.anthropic.com"
    models: tuple[str, ...] = ("claude-*",)
    emulator_path = "/anthropic"

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own_key = model is not None and model.key is not None
        variable = model.key if model is not None and model.key is not None else self.key_variable
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or self.default_base_url, self.base_url_variable),
            key=found_key(environ, variable, "Anthropic"),
            # The usual workspace is that of the usual key.
            project=None if own_key else environ.get("ANTHROPIC_WORKSPACE_ID") or None,
        )

    def connect(self, endpoint: Endpoint) -> Anthropic:
        return Anthropic(endpoint)

    def guide(self) -> str:
        return guide(self)


provider: Vendor = AnthropicVendor()


def _checked_url(address: str, variable: str) -> str:
    where = f"{variable} or base_url"
    parts = address_parts(address, where, "https://host")
    plain = address.strip().rstrip("/")
    if parts.query or parts.fragment or plain.endswith("/v1"):
        raise StudyError(f"{where}: '{address}'; wanted the address without /v1, as in https://{parts.hostname}")
    return plain


def _at(batch_id: str) -> str:
    return f"{_BATCHES}/{quote(batch_id, safe='')}"
