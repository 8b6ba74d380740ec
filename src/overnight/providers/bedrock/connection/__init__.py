"""Bedrock in one account and region: jobs over S3, and live calls, each request signed."""

import re
from collections.abc import Callable
from urllib.parse import quote

from overnight.core.ask import Model
from overnight.core.errors import Gone
from overnight.providers.bedrock.connection.objects import ObjectStorage
from overnight.providers.bedrock.connection.signatures import Signatures
from overnight.providers.bedrock.format import WINDOWS
from overnight.providers.bedrock.jobs import BUCKETS, create_refusal, job_body, read_created, read_job, read_page
from overnight.providers.contract import Batch, CreateAnswer, Endpoint, Fence, Intent, Reply, Sightings
from overnight.providers.reading.listing import Page, asked_for, back_to, first_page
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.creating import create_once
from overnight.providers.wire.http import Timeouts, Wire

_PAGE = "100"
_ANSWERS = ".jsonl.out"
_CONTROL_HOST = re.compile(r"^(https://)bedrock(-fips)?\.")


class BedrockConnection:
    """Bedrock in one account and region."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        signatures = Signatures(endpoint)
        secret = endpoint.key
        self._wire = Wire("bedrock", endpoint.base_url, signatures.of("bedrock"), secret=secret, timeouts=timeouts)
        # Models answer at an address of their own, unless the user has named one for all.
        calls = _CONTROL_HOST.sub(r"\1bedrock-runtime\2.", endpoint.base_url)
        self._live = LiveWire(calls, signatures.of("bedrock"), secret=secret)
        storage = endpoint.storage_url or ""
        self._storage_wire = Wire("bedrock", storage, signatures.of("s3"), secret=secret, timeouts=timeouts)
        self._storage = ObjectStorage(self._storage_wire)

    async def upload(self, intent: Intent) -> str:
        """Under a name of our own: what is put twice is there once."""
        place = BUCKETS.of(self.endpoint, "input").below(f"{intent.token}.jsonl")
        await self._storage.put(place, intent.file)
        return place.uri

    async def newest(self) -> Sightings:
        return await first_page(self._page)

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        role, output = self.endpoint.project or "", BUCKETS.of(self.endpoint, "output")
        return await create_once(
            self._wire,
            "/model-invocation-job",
            job_body(intent, role, file_id, output, WINDOWS.field_of(intent.model)),
            read=lambda body: read_created(body, intent.token, file_id),
            refusal=lambda reply: create_refusal(reply, self.endpoint.key),
        )

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return await back_to(fence, pages, self._page)

    async def _page(self, token: str | None) -> Page:
        query = {"maxResults": _PAGE, "sortBy": "CreationTime", "sortOrder": "Descending"}
        wanted = query if token is None else {**query, "nextToken": token}
        reply = await self._wire.ask("list", "GET", "/model-invocation-jobs", query=wanted)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", self._job(batch_id), also=(404,))
        return asked_for(batch_id, read_job(reply.body)) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """Every file of answers in the job's folder, one after the other; its manifest is none."""
        folder = BUCKETS.place_of(ref)
        if folder is None:
            raise Gone(f"bedrock keeps no {ref}: results lie in a bucket")
        found = await self._storage.below(folder)
        if not found:
            raise Gone(f"{ref} holds nothing any more")
        files = [entry for entry in found if entry.place.name.endswith(_ANSWERS)]
        return sum([await self._storage.read(entry, sink) for entry in files])

    async def cancel(self, batch_id: str) -> Batch | None:
        path = f"{self._job(batch_id)}/stop"
        reply = await self._wire.ask("cancel", "POST", path, body=b"", also=(400, 404, 409))
        # The answer is empty, and a job that has ended meanwhile cannot be stopped: what it has become counts.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        place = BUCKETS.place_of(file_id)
        if place is not None:
            await self._storage.remove(place)

    async def knows_file(self, file_id: str) -> bool:
        place = BUCKETS.place_of(file_id)
        return place is not None and await self._storage.knows(place)

    async def call(self, model: Model, body: bytes) -> Reply:
        return await self._live.call(f"/model/{quote(model.name, safe='')}/converse", body)

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", "/model-invocation-jobs", query={"maxResults": "1"})
        return f"bedrock accepts the credentials at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()
        await self._storage_wire.close()

    def _job(self, batch_id: str) -> str:
        return f"/model-invocation-job/{quote(batch_id, safe='')}"
