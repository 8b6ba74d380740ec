"""The Gemini API: batches of `generateContent` through files, and live calls."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

import msgspec

from overnight.core.ask import Ask, Model
from overnight.core.errors import Gone, ProviderError, StudyError, Unauthorized, Unavailable
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
    Sightings,
    Vendor,
)
from overnight.providers.contract import Reply as LiveReply
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.gemini.batches import LIMITS, inlined_lines, read_batch, read_page, short_id
from overnight.providers.google_api import body as _google_body
from overnight.providers.google_api import live as _google_live
from overnight.providers.google_api import problems as _google_problems
from overnight.providers.google_api import rows as _google_rows
from overnight.providers.google_api.guide import guide
from overnight.providers.google_api.refusals import count_of, create_refusal, decoded
from overnight.providers.reading.complaints import complaint_of
from overnight.providers.reading.listing import Page, back_to, first_page
from overnight.providers.reading.responses import Reply
from overnight.providers.wire.bodies import MOST_INLINED
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Timeouts, Wire
from overnight.providers.writing import ByModel

__all__ = ["Gemini", "GeminiVendor", "provider"]

_VERSION = "/v1beta"
_PAGE = "100"
_UPLOAD = "X-Goog-Upload-"
# A file that is not there, or is another's: the API tells both alike.
_NO_FILE = (403, 404)


class Gemini:
    """The Gemini API at one endpoint."""

    name = "gemini"
    tags = True

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        self._forms = ByModel(_google_body.form_of)
        headers = {"x-goog-api-key": endpoint.key}
        self._wire = Wire(self.name, endpoint.base_url, headers, secret=endpoint.key, timeouts=timeouts)
        self._live = LiveWire(endpoint.base_url, headers, secret=endpoint.key)

    def limits(self, model: Model) -> Limits:  # noqa: ARG002 - the contract's; here all models are alike
        return LIMITS

    def problems(self, model: Model) -> list[str]:
        return _google_problems.problems(model, imported=False)

    def encode(self, ask: Ask) -> bytes:
        return _google_body.encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:  # noqa: ARG002 - the batch names the model
        return _google_body.line("key", custom_id, body)

    def decode(self, line: bytes) -> Line:
        return _google_rows.decode(line)

    def read_line(self, line: bytes) -> ReadyLine:
        return _google_body.read_line(line, self.name, "key")

    def live_line(self, custom_id: str, reply: LiveReply) -> bytes:
        return _google_live.live_line("key", custom_id, reply)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        same_file = file_id is not None and batch.input_ref == file_id
        return "yes" if batch.tag == intent.token or same_file else "no"

    async def upload(self, intent: Intent) -> str:
        """Under an id of our own, so that a lost answer leaves no second file: what is there already is ours."""
        name = f"files/{file_id_of(intent.token)}"
        start = await self._start_upload(name, intent)
        if start.status == 409:
            return await self._uploaded_before(name, intent)
        address = start.headers.get(f"{_UPLOAD}URL")
        if not address:
            raise Unavailable("gemini: the answer to an upload names no address (is the base URL right?)")
        headers = {f"{_UPLOAD}Command": "upload, finalize", f"{_UPLOAD}Offset": "0"}
        reply = await self._wire.send_file(address, intent.file, headers=headers)
        file = decoded(reply.body, self.name).get("file")
        return _checked_file(file if isinstance(file, dict) else {}, intent)

    async def _start_upload(self, name: str, intent: Intent) -> Reply:
        about = {"file": {"name": name, "displayName": intent.token, "mimeType": "application/jsonl"}}
        headers = {
            f"{_UPLOAD}Protocol": "resumable",
            f"{_UPLOAD}Command": "start",
            f"{_UPLOAD}Header-Content-Length": str(intent.bytes),
            f"{_UPLOAD}Header-Content-Type": "application/jsonl",
        }
        path = f"/upload{_VERSION}/files"
        return await self._wire.ask(
            "upload", "POST", path, body=msgspec.json.encode(about), headers=headers, also=(409,)
        )

    async def _uploaded_before(self, name: str, intent: Intent) -> str:
        reply = await self._wire.ask("retrieve", "GET", f"{_VERSION}/{name}")
        try:
            return _checked_file(decoded(reply.body, self.name), intent)
        except Unavailable:
            await self.remove_file(name)
            raise

    async def newest(self) -> Sightings:
        return await first_page(lambda cursor: self._page(_PAGE, cursor))

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        batch = {"displayName": intent.token, "inputConfig": {"fileName": file_id}}
        path = f"{_VERSION}/models/{_safe(intent.model.name)}:batchGenerateContent"
        sending = await self._wire.send_once("create", path, msgspec.json.encode({"batch": batch}))
        reply = sending.reply
        if reply is None:
            return CreateAnswer(sent=sending.sent, status=sending.status, problem=sending.problem)
        if not reply.ok:
            return CreateAnswer(
                sent=True,
                status=reply.status,
                refusal=create_refusal(reply, self.endpoint.key),
                problem=self._wire.explain(f"POST {path}", reply),
            )
        try:
            return CreateAnswer(sent=True, status=reply.status, batch=read_batch(reply.body))
        except ProviderError as error:
            return CreateAnswer(sent=True, status=reply.status, problem=str(error))

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return await back_to(fence, pages, lambda cursor: self._page(_PAGE, cursor))

    async def _page(self, size: str, token: str | None = None) -> Page:
        query = {"pageSize": size} | ({} if token is None else {"pageToken": token})
        reply = await self._wire.ask("list", "GET", f"{_VERSION}/batches", query=query)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", _batch_path(batch_id), also=(404,))
        return read_batch(reply.body) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        if ref.startswith("batches/"):
            return await self._fetch_inlined(ref, sink)
        path = f"{_VERSION}/files/{_safe(short_id(ref))}:download?alt=media"
        reply = await self._wire.download(path, sink, also=(*_NO_FILE, 410))
        if reply.ok:
            return reply.length
        if reply.status == 403 and "may not exist" not in complaint_of(reply.body).message:
            raise Unauthorized(self._wire.explain(f"GET {path}", reply))
        raise Gone(f"gemini no longer keeps {ref}, or never had it")

    async def _fetch_inlined(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        reply = await self._wire.ask("fetch", "GET", _batch_path(ref), also=(404, 410), most=MOST_INLINED)
        if not reply.ok:
            raise Gone(f"gemini no longer keeps {ref}")
        for line in inlined_lines(reply.body):
            sink(line)
        return None

    async def cancel(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("cancel", "POST", f"{_batch_path(batch_id)}:cancel", also=(400, 404, 409))
        # The answer is empty, and a batch that has ended meanwhile cannot be cancelled: what it has become counts.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        await self._wire.ask("delete", "DELETE", f"{_VERSION}/files/{_safe(short_id(file_id))}", also=_NO_FILE)

    async def knows_file(self, file_id: str) -> bool:
        path = f"{_VERSION}/files/{_safe(short_id(file_id))}"
        return (await self._wire.ask("retrieve", "GET", path, also=_NO_FILE)).ok

    async def call(self, model: Model, body: bytes) -> LiveReply:
        path = f"{_VERSION}/models/{_safe(model.name)}:generateContent"
        return await _google_live.call(self._live, path, body)

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", f"{_VERSION}/models", query={"pageSize": "1"})
        return f"gemini accepts the key at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()


class GeminiVendor:
    """The Gemini API, before it is given an endpoint."""

    name = "gemini"
    key_variable = "GEMINI_API_KEY"
    base_url_variable = "GOOGLE_GEMINI_BASE_URL"
    default_base_url = "https://generativelanguage.googleapis.com"
    models: tuple[str, ...] = ("gemini-*", "gemma-*")
    emulator_path = "/gemini"

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own = model.key if model is not None else None
        # Google's own clients take GOOGLE_API_KEY first.
        usual = "GOOGLE_API_KEY" if environ.get("GOOGLE_API_KEY", "").strip() else self.key_variable
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or self.default_base_url, self.base_url_variable),
            key=found_key(environ, own or usual, "Gemini"),
        )

    def connect(self, endpoint: Endpoint) -> Gemini:
        return Gemini(endpoint)

    def guide(self) -> str:
        return guide(self, LIMITS)


provider: Vendor = GeminiVendor()


def file_id_of(token: str) -> str:
    """A file's id may have 40 lower-case letters, digits and dashes, and begin with a letter or digit."""
    return f"o{token}"[:40]


def _checked_file(file: Mapping[str, object], intent: Intent) -> str:
    name, size = file.get("name"), file.get("sizeBytes")
    if not isinstance(name, str) or not name:
        raise Unavailable("gemini: the answer to an upload names no file (is the base URL right?)")
    if file.get("state") == "FAILED" or (size is not None and count_of(size) != intent.bytes):
        # Half a file is a valid file of fewer lines: it must not become a batch.
        raise Unavailable(f"gemini: {size} of {intent.bytes} bytes of the upload arrived")
    return name


def _checked_url(address: str, variable: str) -> str:
    parts = address_parts(address, f"{variable} or base_url", "https://host")
    if parts.query or parts.fragment or parts.path.rstrip("/").endswith(("/v1", "/v1beta", "/v1alpha")):
        raise StudyError(
            f"{variable} or base_url: '{address}' must not include a version; leave off what follows the host"
        )
    return address.strip().rstrip("/")


def _batch_path(batch_id: str) -> str:
    return f"{_VERSION}/batches/{_safe(short_id(batch_id))}"


def _safe(reference: str) -> str:
    return quote(reference, safe="")
