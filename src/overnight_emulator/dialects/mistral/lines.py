"""The rows of Mistral's jobs: a failed one has its body as a text."""

from __future__ import annotations

from overnight_emulator.batches.rows import Reply, Row
from overnight_emulator.dialects.lookalike.bare_lines import BareRows, write


class MistralRows(BareRows):
    most = 1_000_000

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:
        body = reply.body if reply.status == 200 else write(reply.body).decode()
        response = {"status_code": reply.status, "body": body}
        line = {"id": f"batch-{row_id}", "custom_id": row.custom_id, "response": response, "error": None}
        return write(line) + b"\n"
