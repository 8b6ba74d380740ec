"""OpenAI's format: chat completions and responses, with the rules of its model families."""

from overnight.core.ask import Ask, Model
from overnight.core.result import Line
from overnight.providers.contract import Batch, Intent, Limits, Ours, ReadyLine, Reply
from overnight.providers.openai.body import form_of
from overnight.providers.openai.families import family_of
from overnight.providers.openai.problems import problems
from overnight.providers.openai_api.body import encode, read_line
from overnight.providers.openai_api.body import line as line_of
from overnight.providers.openai_api.live import live_line
from overnight.providers.openai_api.rows import answered_by, decode
from overnight.providers.reading.listing import ours_by_tag
from overnight.providers.writing import ByModel

# The same for every model; what differs from model to model is told only by the provider's refusals.
LIMITS = Limits(requests=50_000, bytes=209_715_200, creates_per_hour=2_000, retention_days=30, discount="50%")


class OpenAIFormat:
    """How OpenAI is asked and how it answers."""

    tags = True

    def __init__(self) -> None:
        self._forms = ByModel(form_of)

    def limits(self, model: Model) -> Limits:  # noqa: ARG002 - the contract's; here all models are alike
        return LIMITS

    def problems(self, model: Model) -> list[str]:
        return problems(model)

    def encode(self, ask: Ask) -> bytes:
        return encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        return line_of(self._forms.of(model), custom_id, body)

    def decode(self, line: bytes) -> Line:
        return decode(line)

    def thinks_by_itself(self, model: Model) -> bool:
        """Families that can be told not to reason do not, unless they are told to."""
        efforts = family_of(model.name).efforts or ()
        return bool(efforts) and "none" not in efforts

    def answered_by(self, line: bytes) -> str | None:
        return answered_by(line)

    def read_line(self, line: bytes) -> ReadyLine:
        return read_line(line, "openai")

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return live_line(custom_id, reply)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        return ours_by_tag(batch, intent, file_id)
