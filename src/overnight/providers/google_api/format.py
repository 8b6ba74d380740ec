"""The format of Google's models, whichever API they are asked by."""

from functools import partial

from overnight.core.ask import Ask, Model
from overnight.core.result import Line
from overnight.providers.contract import Batch, Intent, Limits, Ours, ReadyLine, Reply
from overnight.providers.google_api.body import IdField, encode, form_of, read_line, with_model
from overnight.providers.google_api.body import line as line_of
from overnight.providers.google_api.families import family_of
from overnight.providers.google_api.live import live_line
from overnight.providers.google_api.problems import problems
from overnight.providers.google_api.rows import answered_by, decode
from overnight.providers.reading.listing import ours_by_tag
from overnight.providers.writing import ByModel


class GoogleFormat:
    """How Google's models are asked and how they answer. `imported`: through Vertex's importer of tables."""

    tags = True

    def __init__(self, name: str, id_field: IdField, limits: Limits, *, imported: bool) -> None:
        self._name = name
        self._id_field = id_field
        self._limits = limits
        self._imported = imported
        self._forms = ByModel(partial(form_of, imported=imported))

    def limits(self, model: Model) -> Limits:  # noqa: ARG002 - the contract's; here all models are alike
        return self._limits

    def problems(self, model: Model) -> list[str]:
        return problems(model, imported=self._imported)

    def encode(self, ask: Ask) -> bytes:
        return encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:  # noqa: ARG002 - the batch names the model
        return line_of(self._id_field, custom_id, body)

    def ready_line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        """With the model in the request, where the API has a field for it."""
        return line_of(self._id_field, custom_id, with_model(model.name, body))

    def thinks_by_itself(self, model: Model) -> bool:
        family = family_of(model.name)
        return family.known and family.thinks and not family.thinks_when_told

    def decode(self, line: bytes) -> Line:
        return decode(line)

    def answered_by(self, line: bytes) -> str | None:
        return answered_by(line)

    def read_line(self, line: bytes) -> ReadyLine:
        return read_line(line, self._name, self._id_field)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return live_line(self._id_field, custom_id, reply)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        return ours_by_tag(batch, intent, file_id)
