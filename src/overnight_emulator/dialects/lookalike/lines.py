"""Lines of batches in OpenAI's own form, answered by a look-alike's models."""

from __future__ import annotations

from overnight_emulator.batches.batch import Batch
from overnight_emulator.batches.rows import Reply, Row, Shape
from overnight_emulator.dialects.lookalike.answers import answer
from overnight_emulator.dialects.openai.lines import OpenAIRows
from overnight_emulator.dialects.openai.prompts import chat_shape


class LookalikeRows(OpenAIRows):
    def shape(self, row: Row, batch: Batch) -> Shape | None:  # noqa: ARG002 - as below
        return chat_shape(row.body)

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:  # noqa: ARG002 - there is one endpoint
        return answer(self.models, self._truth, row.body, row.digest, moment)
