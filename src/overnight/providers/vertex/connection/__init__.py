"""Vertex AI in one project and region: jobs over Cloud Storage, and live calls."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from overnight.core.ask import Model
from overnight.core.errors import Gone
from overnight.providers.contract import Batch, CreateAnswer, Endpoint, Fence, Intent, Reply, Sightings
from overnight.providers.google_api.live import told_to_wait
from overnight.providers.google_api.refusals import create_refusal
from overnight.providers.reading.listing import Page, asked_for, back_to, first_page, set_back
from overnight.providers.vertex.connection.storage import CloudStorage
from overnight.providers.vertex.connection.tokens import Tokens
from overnight.providers.vertex.jobs import BUCKETS, LOCATION, STORAGE, job_body, read_job, read_page, since
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.creating import create_once
from overnight.providers.wire.http import Timeouts, Wire

_VERSION = "/v1"
_PAGE = "100"
# Files of answers, whatever else may lie beside them.
_ANSWERS = "prediction"


class VertexConnection:
    """Vertex AI in one project and region."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        self._tokens = Tokens(endpoint.key, endpoint.credentials)
        self._wire = self._wire_to(endpoint.base_url, timeouts)
        self._live = LiveWire(endpoint.base_url, self._tokens.headers, secret=endpoint.key)
        self._storage_wire = self._wire_to(endpoint.storage_url or STORAGE, timeouts)
        self._storage = CloudStorage(self._storage_wire)
        self._parent = f"{_VERSION}/projects/{endpoint.project}/locations/{endpoint.location or LOCATION}"

    def _wire_to(self, address: str, timeouts: Timeouts | None) -> Wire:
        return Wire("vertex", address, self._tokens.headers, secret=self.endpoint.key, timeouts=timeouts)

    async def upload(self, intent: Intent) -> str:
        place = BUCKETS.of(self.endpoint, "input").below(f"{intent.token}.jsonl")
        await self._storage.put(intent, place)
        return place.uri

    async def newest(self) -> Sightings:
        return await first_page(lambda cursor: self._page(_PAGE, {}, cursor))

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        path = f"{self._parent}/batchPredictionJobs"
        return await create_once(
            self._wire,
            path,
            job_body(intent, file_id, BUCKETS.of(self.endpoint, "output")),
            read=read_job,
            refusal=lambda reply: create_refusal(reply, self.endpoint.key),
        )

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        """To the end of what is new: the order of the listing is not promised, but its filter is."""
        seen = await self._all(since(fence), pages)
        return await self._all({}, pages) if set_back(fence, seen.date) else seen

    async def _all(self, wanted: Mapping[str, str], pages: int) -> Sightings:
        return await back_to(Fence(None), pages, lambda cursor: self._page(_PAGE, wanted, cursor))

    async def _page(self, size: str, wanted: Mapping[str, str], token: str | None = None) -> Page:
        query = {"pageSize": size, **wanted} | ({} if token is None else {"pageToken": token})
        reply = await self._wire.ask("list", "GET", f"{self._parent}/batchPredictionJobs", query=query)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", self._job_path(batch_id), also=(404,))
        return asked_for(batch_id, read_job(reply.body)) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """A file, or every file of answers in a job's folder, one after the other."""
        place = BUCKETS.place_of(ref)
        if place is None:
            raise Gone(f"vertex keeps no {ref}: results lie in a bucket")
        found = await self._storage.below(place)
        entries = [one for one in found if one.name == place.name or _is_answers(one.name)]
        if not entries:
            raise Gone(f"{ref} holds no answers any more")
        return sum([await self._storage.read(place, entry, sink) for entry in entries])

    async def cancel(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("cancel", "POST", f"{self._job_path(batch_id)}:cancel", also=(400, 404, 409))
        # The answer is empty, and a job that has ended meanwhile cannot be cancelled: what it has become counts.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        place = BUCKETS.place_of(file_id)
        if place is not None:
            await self._storage.remove(place)

    async def knows_file(self, file_id: str) -> bool:
        place = BUCKETS.place_of(file_id)
        return place is not None and await self._storage.knows(place)

    async def call(self, model: Model, body: bytes) -> Reply:
        path = f"{self._parent}/publishers/google/models/{quote(model.name, safe='')}:generateContent"
        return told_to_wait(await self._live.call(path, body))

    async def check_key(self) -> str:
        await self._page("1", {})
        return f"vertex accepts the credentials for the project {self.endpoint.project} at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()
        await self._storage_wire.close()

    def _job_path(self, batch_id: str) -> str:
        """A full name is of whatever project and region it says."""
        if batch_id.startswith("projects/"):
            return f"{_VERSION}/{quote(batch_id, safe='/')}"
        return f"{self._parent}/batchPredictionJobs/{quote(batch_id, safe='')}"


def _is_answers(name: str) -> bool:
    return name.rsplit("/", 1)[-1].startswith(_ANSWERS)
