"""Vendors with the ways that no vendor of our own has: several result files, and batches with ids that we choose."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from overnight.providers import Batch, CreateAnswer, Endpoint, Fence, Intent, Limits, Sightings
from overnight.providers.openai_api.batches import Shape
from overnight.providers.openai_api.connection import FileBatchConnection
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeBatches, LookalikeVendor
from overnight.providers.openai_api.lookalike_format import Lines, LookalikeBatchFormat, Rules
from overnight.providers.openai_api.served import Batches, Calls

LIMITS = Limits(requests=1000, bytes=10**8)
URL = "/v1/chat/completions"
FILES = 3


def entry(name: str) -> Lookalike:
    return Lookalike(
        name=name,
        title=name.title(),
        key_variable="TOY_API_KEY",
        base_url_variable="TOY_BASE_URL",
        address="http://host/v1",
        chat_path="/chat/completions",
        models_path="/models",
        thinking=lambda _: None,
        batches=LookalikeBatches(limits=LIMITS),
        emulator_path="/openai/v1",
    )


class ToyConnection(FileBatchConnection):
    """Batches of the look-alike, shown as the toy shows them."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        calls = Calls(name=name, path=lambda _: "/chat/completions")
        super().__init__(calls, Batches(shape=Shape(name=name, title="Toy's"), endpoint=lambda _: URL), endpoint)

    def shown(self, batch: Batch) -> Batch:
        return batch

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        answer = await super().create(intent, file_id)
        if answer.batch is None:
            return answer
        return msgspec.structs.replace(answer, batch=self.shown(answer.batch))

    async def newest(self) -> Sightings:
        return self._all_shown(await super().newest())

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        return self._all_shown(await super().recent(fence, pages))

    async def retrieve(self, batch_id: str) -> Batch | None:
        batch = await super().retrieve(batch_id)
        return None if batch is None else self.shown(batch)

    def _all_shown(self, seen: Sightings) -> Sightings:
        return msgspec.structs.replace(seen, batches=tuple(self.shown(batch) for batch in seen.batches))


class ManyFiles(ToyConnection):
    """The output lies in several files."""

    def shown(self, batch: Batch) -> Batch:
        output = [ref for kind, ref in batch.parts if kind == "output"]
        others = [part for part in batch.parts if part[0] != "output"]
        pieces = [("output", f"{ref}#{number}") for ref in output for number in range(FILES)]
        return msgspec.structs.replace(batch, parts=(*pieces, *others))

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        whole = bytearray()
        file, _, number = ref.partition("#")
        length = await super().fetch(file, whole.extend)
        if not number:
            sink(bytes(whole))
            return length
        lines = bytes(whole).splitlines(keepends=True)[int(number) :: FILES]
        sink(b"".join(lines))
        return sum(map(len, lines))


class OwnIds(ToyConnection):
    """Ids are ours. The listing is of no help: it shows neither them nor any tag."""

    def shown(self, batch: Batch) -> Batch:
        return msgspec.structs.replace(batch, tag=None, input_ref=None)

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        answer = await super().create(intent, file_id)
        if answer.batch is None:
            return answer
        return msgspec.structs.replace(answer, batch=self._named(answer.batch, f"job-{intent.token}"))

    async def retrieve(self, batch_id: str) -> Batch | None:
        found = await self._found(batch_id)
        return None if found is None else self._named(found, batch_id)

    async def _found(self, batch_id: str) -> Batch | None:
        seen = await FileBatchConnection.recent(self, Fence(None), 100)
        return next((batch for batch in seen.batches if f"job-{batch.tag}" == batch_id), None)

    def _named(self, batch: Batch, batch_id: str) -> Batch:
        return msgspec.structs.replace(self.shown(batch), id=batch_id)


class OwnIdsFormat(LookalikeBatchFormat):
    def batch_id(self, token: str) -> str:
        return f"job-{token}"


class ManyFilesVendor(LookalikeVendor):
    def connect(self, endpoint: Endpoint) -> ManyFiles:
        return ManyFiles(self.name, endpoint)


class OwnIdsVendor(LookalikeVendor):
    def __init__(self, kind: Lookalike) -> None:
        super().__init__(kind)
        self.format = OwnIdsFormat(Rules(name=kind.name, thinking=kind.thinking), Lines(limits=LIMITS))

    def connect(self, endpoint: Endpoint) -> OwnIds:
        return OwnIds(self.name, endpoint)


many_files = ManyFilesVendor(entry("manyfiles"))
own_ids = OwnIdsVendor(entry("ownids"))
