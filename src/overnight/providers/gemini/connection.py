"""The Gemini API at one endpoint: batches through files, and live calls."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import Gone, Unauthorized, Unavailable
from overnight.providers.contract import Batch, CreateAnswer, Endpoint, Fence, Intent, Reply, Sightings
from overnight.providers.gemini.batches import inlined_lines, read_batch, read_page, short_id
from overnight.providers.google_api.live import told_to_wait
from overnight.providers.google_api.refusals import count_of, create_refusal, decoded
from overnight.providers.reading.complaints import complaint_of
from overnight.providers.reading.listing import Page, asked_for, back_to, check_name, first_page
from overnight.providers.reading.responses import Response
from overnight.providers.wire.bodies import MOST_INLINED
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.creating import create_once
from overnight.providers.wire.http import Timeouts, Wire

_VERSION = "/v1beta"
_PAGE = "100"
_UPLOAD = "X-Goog-Upload-"
# A file that is not there, or is another's: the API tells both alike.
_NO_FILE = (403, 404)


class GeminiConnection:
    """The Gemini API at one endpoint."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        headers = {"x-goog-api-key": endpoint.key}
        self._wire = Wire("gemini", endpoint.base_url, headers, secret=endpoint.key, timeouts=timeouts)
        self._live = LiveWire(endpoint.base_url, headers, secret=endpoint.key)

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
        file = decoded(reply.body, "gemini").get("file")
        return _checked_file(file if isinstance(file, dict) else {}, intent)

    async def _start_upload(self, name: str, intent: Intent) -> Response:
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
            return _checked_file(decoded(reply.body, "gemini"), intent)
        except Unavailable:
            await self.remove_file(name)
            raise

    async def newest(self) -> Sightings:
        return await first_page(self._page)

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        batch = {"displayName": intent.token, "inputConfig": {"fileName": file_id}}
        path = f"{_VERSION}/models/{_safe(intent.model.name)}:batchGenerateContent"
        return await create_once(
            self._wire,
            path,
            msgspec.json.encode({"batch": batch}),
            read=read_batch,
            refusal=lambda reply: create_refusal(reply, self.endpoint.key),
        )

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return await back_to(fence, pages, self._page)

    async def _page(self, token: str | None) -> Page:
        query = {"pageSize": _PAGE} | ({} if token is None else {"pageToken": token})
        reply = await self._wire.ask("list", "GET", f"{_VERSION}/batches", query=query)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", _batch_path(batch_id), also=(404,))
        return asked_for(batch_id, read_batch(reply.body)) if reply.ok else None

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

    async def call(self, model: Model, body: bytes) -> Reply:
        path = f"{_VERSION}/models/{_safe(model.name)}:generateContent"
        return told_to_wait(await self._live.call(path, body))

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", f"{_VERSION}/models", query={"pageSize": "1"})
        return f"gemini accepts the key at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()


def file_id_of(token: str) -> str:
    """A file's id may have 40 lower-case letters, digits and dashes, and begin with a letter or digit."""
    return f"o{token}"[:40]


def _checked_file(file: Mapping[str, object], intent: Intent) -> str:
    name, size = file.get("name"), file.get("sizeBytes")
    if not isinstance(name, str) or not name:
        raise Unavailable("gemini: the answer to an upload names no file (is the base URL right?)")
    check_name("gemini", file.get("displayName"), intent.token)
    if file.get("state") == "FAILED" or (size is not None and count_of(size) != intent.bytes):
        # Half a file is a valid file of fewer lines: it must not become a batch.
        raise Unavailable(f"gemini: {size} of {intent.bytes} bytes of the upload arrived")
    return name


def _batch_path(batch_id: str) -> str:
    return f"{_VERSION}/batches/{_safe(short_id(batch_id))}"


def _safe(reference: str) -> str:
    return quote(reference, safe="")
