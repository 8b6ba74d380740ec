"""Lines of batches in OpenAI's own form, answered by a look-alike's models."""

from __future__ import annotations

from overnight_emulator.batch import Batch
from overnight_emulator.dialects.lookalike.answers import answer
from overnight_emulator.dialects.openai.lines import OpenAIRows
from overnight_emulator.rows import Reply, Row


class LookalikeRows(OpenAIRows):
    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:  # noqa: ARG002 - there is one endpoint
        return answer(self._models, self._truth, row.body, row.digest, moment)
