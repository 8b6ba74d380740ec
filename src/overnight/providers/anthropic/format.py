"""Anthropic's format: messages, with the rules of its model families. A batch carries no tag."""

from overnight.core.ask import Ask, Model
from overnight.core.result import Line
from overnight.providers.anthropic.batches import LIMITS
from overnight.providers.anthropic.body import encode, form_of, read_line
from overnight.providers.anthropic.body import line as line_of
from overnight.providers.anthropic.families import family_of
from overnight.providers.anthropic.live import live_line
from overnight.providers.anthropic.problems import problems
from overnight.providers.anthropic.rows import answered_by, decode
from overnight.providers.contract import Batch, Intent, Limits, Ours, ReadyLine, Reply
from overnight.providers.writing import ByModel


class AnthropicFormat:
    """How Anthropic is asked and how it answers."""

    tags = False

    def __init__(self) -> None:
        self._forms = ByModel(form_of)

    def limits(self, model: Model) -> Limits:  # noqa: ARG002 - the contract's; here all models are alike
        return LIMITS

    def problems(self, model: Model) -> list[str]:
        return problems(model)

    def encode(self, ask: Ask) -> bytes:
        return encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:  # noqa: ARG002 - the body says it all
        return line_of(custom_id, body)

    def decode(self, line: bytes) -> Line:
        return decode(line)

    def thinks_by_itself(self, model: Model) -> bool:
        family = family_of(model.name)
        return family.thinks in ("adaptive", "budget") and family.off != ""

    def answered_by(self, line: bytes) -> str | None:
        return answered_by(line)

    def read_line(self, line: bytes) -> ReadyLine:
        return read_line(line)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return live_line(custom_id, reply)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:  # noqa: ARG002 - there are no files
        """A batch has neither tag nor input to know it by, only a number of requests; 0 is a number not told."""
        return "maybe" if batch.counts.total in (0, intent.rows) else "no"
