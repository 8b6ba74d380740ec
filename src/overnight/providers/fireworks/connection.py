"""Fireworks at one account: jobs over datasets, and live calls."""

import re
from collections.abc import Callable
from urllib.parse import quote

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import Gone, StudyError, Unavailable
from overnight.providers.contract import Batch, CreateAnswer, Endpoint, Fence, Intent, Refusal, Reply, Sightings
from overnight.providers.fireworks.format import full_name, with_model
from overnight.providers.fireworks.jobs import is_ready, read_job, read_page, short, signed_addresses
from overnight.providers.openai_api.batches import create_refusal, received_bytes
from overnight.providers.openai_api.connection import key_headers
from overnight.providers.openai_api.live import rates_of
from overnight.providers.reading.listing import Page, asked_for, back_to, first_page
from overnight.providers.reading.responses import Response
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.creating import create_once
from overnight.providers.wire.http import Timeouts, Wire

_PAGE = "100"
_UNREADY = re.compile(
    r"\bdataset\b.*\b(?:not (?:yet )?ready|uploading|not in (?:the )?state)\b", re.IGNORECASE | re.DOTALL
)


class FireworksConnection:
    """Fireworks at one account."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        headers, secret = key_headers(endpoint), endpoint.key
        self._wire = Wire("fireworks", endpoint.base_url, headers, secret=secret, timeouts=timeouts)
        self._live = LiveWire(endpoint.base_url, headers, secret=secret, rates=rates_of)

    async def upload(self, intent: Intent) -> str:
        """A dataset under an id of our own: after a lost answer the one that is there is ours."""
        dataset_id = f"o{intent.token}"
        about = {"userUploaded": {}, "exampleCount": str(intent.rows), "format": "CHAT"}
        body = msgspec.json.encode({"datasetId": dataset_id, "dataset": about})
        made = await self._wire.ask("upload", "POST", self._account("datasets"), body=body, also=(409,))
        if made.status == 409 and is_ready((await self._wire.ask("retrieve", "GET", self._dataset(dataset_id))).body):
            return dataset_id
        reply = await self._wire.upload(f"{self._dataset(dataset_id)}:upload", {}, intent.file, f"{intent.token}.jsonl")
        received = received_bytes(reply.body)
        if received not in (None, intent.bytes):
            # Half a file is a valid file of fewer lines: it must not become a batch.
            await self.remove_file(dataset_id)
            raise Unavailable(f"fireworks: {received} of {intent.bytes} bytes of the upload arrived")
        return dataset_id

    async def newest(self) -> Sightings:
        return await first_page(self._page)

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        job_id = f"o{intent.token}"
        asked = {
            "model": full_name(intent.model),
            "inputDatasetId": self._named("datasets", file_id),
            "outputDatasetId": self._named("datasets", f"{job_id}-out"),
            "displayName": intent.token,
        }
        return await create_once(
            self._wire,
            f"{self._account('batchInferenceJobs')}?batchInferenceJobId={quote(job_id, safe='')}",
            msgspec.json.encode(asked),
            read=read_job,
            refusal=self._refusal,
        )

    def _refusal(self, reply: Response) -> Refusal | None:
        """Where a job names what is not there, it is the input, unless it is said to be the model."""
        refusal = create_refusal(reply, self.endpoint.key)
        if refusal is None or refusal.kind != "invalid":
            return refusal
        # A dataset is not ready at once when its file has come: that passes.
        if reply.status == 404 or _UNREADY.search(refusal.message):
            return msgspec.structs.replace(refusal, kind="file_not_ready")
        return refusal

    async def recent(self, fence: Fence, pages: int) -> Sightings:  # noqa: ARG002 - no order is promised
        """To the end."""
        return await back_to(Fence(None), pages, self._page)

    async def _page(self, token: str | None) -> Page:
        query = {"pageSize": _PAGE} | ({} if token is None else {"pageToken": token})
        reply = await self._wire.ask("list", "GET", self._account("batchInferenceJobs"), query=query)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        path = f"{self._account('batchInferenceJobs')}/{quote(short(batch_id), safe='')}"
        reply = await self._wire.ask("retrieve", "GET", path, also=(404,))
        return asked_for(batch_id, read_job(reply.body)) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """Every file of the output, one after the other, each from the address that is signed for it."""
        path = f"{self._dataset(ref)}:getDownloadEndpoint"
        reply = await self._wire.ask("fetch", "GET", path, also=(404, 410))
        if not reply.ok:
            raise Gone(f"fireworks no longer keeps {ref}")
        addresses = signed_addresses(reply.body)
        lengths = [await self._pour(addresses[name], sink) for name in sorted(addresses)]
        return None if None in lengths else sum(length or 0 for length in lengths)

    async def _pour(self, address: str, sink: Callable[[bytes], None]) -> int | None:
        last = b""

        def keep(chunk: bytes) -> None:
            nonlocal last
            last = chunk[-1:]
            sink(chunk)

        reply = await self._wire.download(address, keep, signed=True)
        if last not in (b"", b"\n"):
            sink(b"\n")
            return None if reply.length is None else reply.length + 1
        return reply.length

    async def cancel(self, batch_id: str) -> Batch | None:
        """There is no way but to delete the job, and what it has finished with it: it is left to end."""
        return await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        await self._wire.ask("delete", "DELETE", self._dataset(file_id), also=(404,))

    async def knows_file(self, file_id: str) -> bool:
        return (await self._wire.ask("retrieve", "GET", self._dataset(file_id), also=(404,))).ok

    async def call(self, model: Model, body: bytes) -> Reply:
        return await self._live.call("/inference/v1/chat/completions", with_model(model, body))

    async def check_key(self) -> str:
        if self.endpoint.project:
            await self._wire.ask("list", "GET", self._account("batchInferenceJobs"), query={"pageSize": "1"})
        else:
            await self._wire.ask("list", "GET", "/inference/v1/models")
        return f"fireworks accepts the key at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()

    def _named(self, kind: str, name: str) -> str:
        if not self.endpoint.project:
            raise StudyError("fireworks: FIREWORKS_ACCOUNT_ID is not set")
        return f"accounts/{self.endpoint.project}/{kind}/{short(name)}"

    def _account(self, kind: str) -> str:
        return f"/v1/{quote(self._named(kind, ''), safe='/')}".rstrip("/")

    def _dataset(self, file_id: str) -> str:
        return f"{self._account('datasets')}/{quote(short(file_id), safe='')}"
