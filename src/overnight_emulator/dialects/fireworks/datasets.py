"""Fireworks' datasets: made by name, filled by an upload, and read through signed addresses."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from aiohttp import BodyPartReader, web

from overnight_emulator.batches.batch import TERMINAL, Batch, output_of, status
from overnight_emulator.dialects.openai.errors import ApiError, bad_json, from_fault
from overnight_emulator.dialects.signed import file_address
from overnight_emulator.faults.calls import suffer
from overnight_emulator.faults.kinds import Event, text_of
from overnight_emulator.store import StoredFile
from overnight_emulator.wire import damaged_forms, json_body, json_reply
from overnight_emulator.world import World

_ID = re.compile(r"[A-Za-z0-9_-]{1,63}")
_CHUNK = 1 << 18
_FILES = {"output": "BIJOutputSet.jsonl", "errors": "error-data"}


class DatasetRoutes:
    """A dataset that is filled is a stored file of its id; one that is empty is a fact."""

    def __init__(self, world: World, dialect: str) -> None:
        self._world = world
        self._dialect = dialect

    def routes(self) -> list[web.RouteDef]:
        below = "/v1/accounts/{account}/datasets"
        return [
            web.post(below, self.create),
            web.post(below + "/{id}:upload", self.upload),
            web.get(below + "/{id}:getDownloadEndpoint", self.addresses),
            web.get(below + "/{id}", self.retrieve),
            web.delete(below + "/{id}", self.delete),
        ]

    async def create(self, request: web.Request) -> web.Response:
        body = await json_body(request, bad_json)
        name = body.get("datasetId")
        if not isinstance(name, str) or not name or not (body.get("dataset") or {}).get("exampleCount"):
            raise ApiError(400, "datasetId and dataset.exampleCount are required")
        check_id(name, "datasetId")
        if self._file(name) is not None or self._world.store.fact(uploading(name)) is not None:
            raise ApiError(409, f"dataset {name} already exists", code="ALREADY_EXISTS")
        self._world.store.set_fact(uploading(name), True)
        self._world.store.forget_fact(f"{uploading(name)} removed")
        return json_reply(self._shown(request, name))

    async def upload(self, request: web.Request) -> web.StreamResponse:
        name = self._existing(request)
        part = self._world.store.path(f"{name}.part")
        try:
            with damaged_forms(lambda: ApiError(400, "the form cannot be read")):
                filename = await _receive(request, part)
            if not part.exists():
                raise ApiError(400, "the form has no file", code="INVALID_ARGUMENT")
            content = part.read_bytes()
            digest = sha256(content).hexdigest()
            fault = self._world.faults.strike(Event("upload", text_of(filename), digest))

            async def keep() -> web.Response:
                file = StoredFile(
                    id=name,
                    dialect=self._dialect,
                    filename=filename,
                    purpose="batch",
                    bytes=len(content),
                    sha256=digest,
                    created_at=self._world.clock.now(),
                    expires_at=None,
                )
                part.replace(self._world.store.path(name))
                self._world.store.add_file(file)
                self._world.store.forget_fact(uploading(name))
                self._world.keep(file, fault)
                return json_reply({"id": name, "object": "file", "bytes": file.bytes, "filename": filename})

            return await suffer(fault, self._world.clock, keep, from_fault)
        finally:
            part.unlink(missing_ok=True)

    async def retrieve(self, request: web.Request) -> web.Response:
        return json_reply(self._shown(request, self._existing(request)))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        name = self._existing(request)

        async def remove() -> web.Response:
            self._world.store.forget_fact(uploading(name))
            for file_id in (name, *(file.id for file in self._outputs(name))):
                self._world.store.remove_file(file_id)
            self._world.store.set_fact(f"{uploading(name)} removed", True)
            return json_reply({})

        fault = self._world.faults.strike(Event("delete", text_of(name), name))
        return await suffer(fault, self._world.clock, remove, from_fault)

    async def addresses(self, request: web.Request) -> web.Response:
        """The files of an output, by what they are called there."""
        self._world.works.settle()
        name = self._existing(request)
        signed = {
            f"{name}/{_FILES[file.details['what']]}": file_address(request, self._dialect, file.id)
            for file in self._outputs(name)
        }
        return json_reply({"filenameToSignedUrls": signed})

    def _outputs(self, name: str) -> list[StoredFile]:
        """What a job has written into a dataset, as far as it is shown by now."""
        now = self._world.clock.now()
        batch = self._job(name)
        hidden = batch is not None and batch.tally is not None and not output_of(batch, now)
        files = self._world.store.all_files(self._dialect, now)
        inside = [file for file in files if file.details.get("dataset") == name]
        return [file for file in inside if not (hidden and file.details["what"] == "output")]

    def _job(self, name: str) -> Batch | None:
        """The job whose output a dataset is, if it has ended."""
        found = self._world.works.find(name.removesuffix("-out"))
        ended = found is not None and status(found, self._world.clock.now()) in TERMINAL
        return found if ended and name.endswith("-out") else None

    def _existing(self, request: web.Request) -> str:
        name = request.match_info["id"]
        known = self._file(name) is not None or self._world.store.fact(uploading(name)) is not None
        removed = self._world.store.fact(f"{uploading(name)} removed") is not None
        if not known and (removed or self._job(name) is None):
            raise _no_dataset(name)
        return name

    def _file(self, name: str) -> StoredFile | None:
        return self._world.store.file(self._dialect, name, self._world.clock.now())

    def _shown(self, request: web.Request, name: str) -> dict[str, Any]:
        return {
            "name": f"accounts/{request.match_info['account']}/datasets/{name}",
            "state": "UPLOADING" if self._file(name) is None else "READY",
            "userUploaded": {},
        }


def uploading(name: str) -> str:
    """What is known of a dataset that has no content yet."""
    return f"fireworks dataset {name}"


def _no_dataset(name: str) -> ApiError:
    return ApiError(404, f"dataset not found: {name}", code="NOT_FOUND")


def check_id(name: str, what: str) -> None:
    """Ids that clients choose: they become parts of names, here of files of ours too."""
    if not _ID.fullmatch(name):
        message = f"{what}: wanted up to 63 letters, digits, '-' and '_', and found {name!r:.100}"
        raise ApiError(400, message, code="INVALID_ARGUMENT")


async def _receive(request: web.Request, part: Any) -> str:
    """The file of the form; its name."""
    filename = "upload"
    async for field in await request.multipart():
        if isinstance(field, BodyPartReader) and field.name == "file":
            filename = field.filename or filename
            with part.open("wb") as target:
                while chunk := await field.read_chunk(_CHUNK):
                    target.write(chunk)
    return filename
