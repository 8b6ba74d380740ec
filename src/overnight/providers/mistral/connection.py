"""Mistral at one endpoint: OpenAI's files, and batch jobs of its own."""

from typing import Any

from overnight.providers.contract import Batch, Intent, Refusal
from overnight.providers.mistral.jobs import PAGE, create_refusal, read_job, read_page
from overnight.providers.openai_api.batches import metadata_of
from overnight.providers.openai_api.connection import FileBatchConnection
from overnight.providers.reading.listing import Page
from overnight.providers.reading.responses import Response


class MistralConnection(FileBatchConnection):
    """Jobs and calls of one account."""

    def _asked(self, intent: Intent, file_id: str) -> dict[str, Any]:
        return {
            "input_files": [file_id],
            "endpoint": self._batches.endpoint(intent.model),
            "model": intent.model.name,
            "metadata": metadata_of(intent),
            **self._batches.create_fields(intent.model),
        }

    def _read(self, body: bytes) -> Batch:
        return read_job(body)

    def _read_created(self, body: bytes) -> Batch:
        return read_job(body)

    def _refusal(self, reply: Response) -> Refusal | None:
        return create_refusal(reply, self.endpoint.key)

    async def _page(self, after: str | None) -> Page:
        """Pages have numbers: one that is made meanwhile moves the others back, and none is missed."""
        number = int(after or 0)
        query = {"page": str(number), "page_size": str(PAGE), "order_by": "-created"}
        reply = await self._wire.ask("list", "GET", self._batches.batches_path, query=query)
        return read_page(reply.body, number, reply.date)
