"""OpenAI: chat completions and responses, in batches through files, or live."""

from collections.abc import Callable, Mapping
from datetime import date
from urllib.parse import quote

import msgspec

from overnight.core.ask import Ask, Model
from overnight.core.errors import Gone, ProviderError, StudyError, Unavailable
from overnight.core.result import Line
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
from overnight.providers.openai.body import form_of
from overnight.providers.openai.families import api_of, notices
from overnight.providers.openai.guide import guide
from overnight.providers.openai.problems import problems
from overnight.providers.openai_api import body as _openai_body
from overnight.providers.openai_api import live as _openai_live
from overnight.providers.openai_api import rows as _openai_rows
from overnight.providers.openai_api.batches import (
    LIMITS,
    create_refusal,
    metadata_of,
    named,
    read_batch,
    read_page,
)
from overnight.providers.reading.listing import Page, back_to, first_page
from overnight.providers.reading.patient_json import UNREADABLE
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Timeouts, Wire
from overnight.providers.writing import ByModel

__all__ = ["OpenAI", "OpenAIVendor", "notices", "provider"]

_PAGE = "100"


class _Received(msgspec.Struct):
    """A file as the provider has it."""

    id: str
    bytes: int | None = None


class OpenAI:
    """OpenAI's API at one endpoint."""

    name = "openai"
    tags = True

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        self._forms = ByModel(form_of)
        headers = {
            "Authorization": f"Bearer {endpoint.key}",
            "OpenAI-Organization": endpoint.organization,
            "OpenAI-Project": endpoint.project,
        }
        sent = {header: value for header, value in headers.items() if value}
        self._wire = Wire(self.name, endpoint.base_url, sent, secret=endpoint.key, timeouts=timeouts)
        self._live = LiveWire(endpoint.base_url, sent, secret=endpoint.key, rates=_openai_live.rates_of)

    def limits(self, model: Model) -> Limits:  # noqa: ARG002 - the contract's; here all models are alike
        return LIMITS

    def problems(self, model: Model) -> list[str]:
        return problems(model)

    def encode(self, ask: Ask) -> bytes:
        return _openai_body.encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        return _openai_body.line(self._forms.of(model), custom_id, body)

    def decode(self, line: bytes) -> Line:
        return _openai_rows.decode(line)

    def read_line(self, line: bytes) -> ReadyLine:
        return _openai_body.read_line(line)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        same_file = file_id is not None and batch.input_ref == file_id
        return "yes" if batch.tag == intent.token or same_file else "no"

    async def upload(self, intent: Intent) -> str:
        reply = await self._wire.upload("/files", {"purpose": "batch"}, intent.file, f"{intent.token}.jsonl")
        file_id = named(reply.body)
        received = _received_bytes(reply.body)
        if received not in (None, intent.bytes):
            # Half a file is a valid file of fewer lines: it must not become a batch.
            raise Unavailable(f"openai: {received} of {intent.bytes} bytes of the upload arrived")
        return file_id

    async def newest(self) -> Sightings:
        return await first_page(lambda cursor: self._page(_PAGE, cursor))

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        body = msgspec.json.encode(
            {
                "input_file_id": file_id,
                "endpoint": _openai_body.PATHS[api_of(intent.model)],
                "completion_window": "24h",
                "metadata": metadata_of(intent),
            }
        )
        sending = await self._wire.send_once("create", "/batches", body)
        reply = sending.reply
        if reply is None:
            return CreateAnswer(sent=sending.sent, status=sending.status, problem=sending.problem)
        if not reply.ok:
            return CreateAnswer(
                sent=True,
                status=reply.status,
                refusal=create_refusal(reply, self.endpoint.key),
                problem=self._wire.explain("POST /batches", reply),
            )
        try:
            return CreateAnswer(sent=True, status=reply.status, batch=read_batch(reply.body))
        except ProviderError as error:
            return CreateAnswer(sent=True, status=reply.status, problem=str(error))

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return await back_to(fence, pages, lambda cursor: self._page(_PAGE, cursor))

    async def _page(self, limit: str, after: str | None = None) -> Page:
        query = {"limit": limit} if after is None else {"limit": limit, "after": after}
        reply = await self._wire.ask("list", "GET", "/batches", query=query)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", f"/batches/{_safe(batch_id)}", also=(404,))
        return read_batch(reply.body) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        reply = await self._wire.download(f"/files/{_safe(ref)}/content", sink, also=(404, 410))
        if not reply.ok:
            raise Gone(f"openai no longer keeps {ref}: results are deleted after {LIMITS.retention_days} days")
        return reply.length

    async def cancel(self, batch_id: str) -> Batch | None:
        path = f"/batches/{_safe(batch_id)}/cancel"
        reply = await self._wire.ask("cancel", "POST", path, also=(400, 404, 409))
        if reply.ok:
            return read_batch(reply.body)
        # A batch that has ended meanwhile cannot be cancelled: what it has become is the answer.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        await self._wire.ask("delete", "DELETE", f"/files/{_safe(file_id)}", also=(404,))

    async def knows_file(self, file_id: str) -> bool:
        return (await self._wire.ask("retrieve", "GET", f"/files/{_safe(file_id)}", also=(404,))).ok

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", "/models", query={"limit": "1"})
        return f"openai accepts the key at {self.endpoint.base_url}"

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return _openai_live.live_line(custom_id, reply)

    async def call(self, model: Model, body: bytes) -> Reply:
        # The base URL has the version already.
        return await self._live.call(_openai_body.PATHS[api_of(model)].removeprefix("/v1"), body)

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()


class OpenAIVendor:
    """OpenAI, before it is given an endpoint."""

    name = "openai"
    key_variable = "OPENAI_API_KEY"
    base_url_variable = "OPENAI_BASE_URL"
    default_base_url = "https://api.openai.com/v1"
    # gpt-oss are open weights that others serve.
    models: tuple[str, ...] = (
        *("gpt-*", "!gpt-oss*", "chatgpt-*", "o[1-9]", "o[1-9]-*"),
        *("codex-*", "computer-use-*", "ft:gpt-*"),
    )
    emulator_path = "/openai/v1"

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own_key = model is not None and model.key is not None
        variable = model.key if model is not None and model.key is not None else self.key_variable
        key = found_key(environ, variable, "OpenAI")
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or self.default_base_url, self.base_url_variable),
            key=key,
            # The usual organisation is that of the usual key; a key of another account brings its own.
            organization=None if own_key else environ.get("OPENAI_ORG_ID") or None,
            project=None if own_key else environ.get("OPENAI_PROJECT_ID") or None,
        )

    def connect(self, endpoint: Endpoint) -> OpenAI:
        return OpenAI(endpoint)

    def notices(self, model: Model, today: date | None = None) -> list[str]:
        return notices(model, today)

    def guide(self) -> str:
        return guide(self)


provider: Vendor = OpenAIVendor()


def _checked_url(address: str, variable: str) -> str:
    where = f"{variable} or base_url"
    parts = address_parts(address, where, "https://host/v1")
    if not parts.path.strip("/") or parts.query or parts.fragment:
        # Gateways have paths of their own, but none does without one.
        raise StudyError(f"{where}: '{address}' must include the path of the API, as in https://{parts.hostname}/v1")
    return address.strip().rstrip("/")


def _received_bytes(body: bytes) -> int | None:
    try:
        return msgspec.json.decode(body, type=_Received).bytes
    except UNREADABLE:
        return None


def _safe(reference: str) -> str:
    return quote(reference, safe="")
