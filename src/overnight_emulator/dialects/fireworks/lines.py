"""The rows of Fireworks' jobs: a completion is the response itself; failed rows are in a file of their own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row
from overnight_emulator.dialects.lookalike.bare_lines import BareRows, write
from overnight_emulator.store import Store, StoredFile


class FireworksRows(BareRows):
    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        if file is None:
            return Flaw("not_found", f"dataset file not found: {batch.input_file_id}")
        return super().validate(batch, file, lines)

    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:
        """Both files lie in the dataset that the job names."""
        kept = super().keep(store, batch, what, part, ended_at, now)
        file = None if kept is None else store.file(batch.dialect, kept, now)
        if file is not None:
            dataset = str(batch.details["output"]).rsplit("/", 1)[-1]
            store.add_file(replace(file, details={**file.details, "dataset": dataset}))
        return kept

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:  # noqa: ARG002 - rows have no id of theirs
        if reply.status == 200:
            return write({"custom_id": row.custom_id, "response": reply.body}) + b"\n"
        said = reply.body.get("error") or {}
        error = {"code": reply.status, "message": said.get("message")}
        return write({"custom_id": row.custom_id, "error": error}) + b"\n"
