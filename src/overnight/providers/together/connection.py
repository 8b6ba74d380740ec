"""Together at one endpoint: OpenAI's API, but for the way in which a file is uploaded."""

import asyncio

import msgspec

from overnight.core.errors import Unavailable
from overnight.core.wording import number_of
from overnight.providers.contract import Intent
from overnight.providers.openai_api.batches import checked_upload
from overnight.providers.openai_api.connection import FileBatchConnection
from overnight.providers.reading.listing import Page
from overnight.providers.reading.patient_json import UNREADABLE
from overnight.store.contract import hash_of

_FILE_ID = "X-Together-File-Id"
_ENDING = ".jsonl"


class _Known(msgspec.Struct):
    file_id: str


class _File(msgspec.Struct):
    id: str
    filename: str


class _Files(msgspec.Struct):
    data: list[msgspec.Raw]


class TogetherConnection(FileBatchConnection):
    """Batches and calls of one account."""

    async def upload(self, intent: Intent) -> str:
        """Asked for with a checksum; then sent to the address that was named; then told to be whole.

        Content that is there already is answered with its file: after a lost answer that is the one that was sent.
        """
        files = self._batches.files_path
        checksum = await asyncio.to_thread(hash_of, intent.file.store, intent.file.name)
        about = {**self._batches.upload_fields, "file_name": f"{intent.token}{_ENDING}", "checksum": checksum}
        reply = await self._wire.ask_form(files, about, also=(302, 409))
        if reply.status == 409:
            return await self._uploaded_before(_known(reply.body), intent)
        address, file_id = reply.headers.get("Location"), reply.headers.get(_FILE_ID)
        if not address or not file_id:
            raise Unavailable("together: the answer to an upload names no address (is the base URL right?)")
        await self._wire.send_file(address, intent.file, method="PUT")
        whole = await self._wire.ask("upload", "POST", f"{self._file(file_id)}/preprocess")
        return self._checked_file(whole.body, intent)

    async def _page(self, after: str | None) -> Page:
        """A batch carries no tag, but its input has a name, and that is our token."""
        page = await super()._page(after)
        reply = await self._wire.ask("list", "GET", self._batches.files_path)
        names, unread = _names(reply.body)
        if unread and any((one.input_ref or "") not in names for one in page.batches):
            # One that may be ours, under a name that did not come: it proves nothing, however often it comes.
            raise Unavailable(f"together: {number_of(unread, 'entry', 'entries')} of the list of files cannot be read")
        tokens = {file_id: name.removesuffix(_ENDING) for file_id, name in names.items() if name.endswith(_ENDING)}
        named = (msgspec.structs.replace(one, tag=tokens.get(one.input_ref or "")) for one in page.batches)
        return msgspec.structs.replace(page, batches=tuple(named), unread=page.unread + unread)

    async def _uploaded_before(self, file_id: str, intent: Intent) -> str:
        reply = await self._wire.ask("retrieve", "GET", self._file(file_id))
        try:
            return self._checked_file(reply.body, intent)
        except Unavailable:
            await self.remove_file(file_id)
            raise

    def _checked_file(self, body: bytes, intent: Intent) -> str:
        return checked_upload(self._shape, body, intent)


def _names(body: bytes) -> tuple[dict[str, str], int]:
    """The names of files by their ids; and how many entries cannot be read.

    Unavailable for what is no list of files: without names, every batch would seem to be somebody else's.
    """
    try:
        files = msgspec.json.decode(body, type=_Files).data
    except UNREADABLE:
        raise Unavailable("together: the list of files is not in Together's format (is the base URL right?)") from None
    named: dict[str, str] = {}
    unread = 0
    for entry in files:
        try:
            file = msgspec.json.decode(entry, type=_File)
        except UNREADABLE:
            unread += 1
        else:
            named[file.id] = file.filename
    return named, unread


def _known(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Known).file_id
    except UNREADABLE:
        raise Unavailable("together: a file is there already, and it is not said which") from None
