"""The window of a batch, where a vendor lets its users choose one."""

import re

import msgspec

from overnight.core.ask import Model
from overnight.providers.contract import Limits

_DURATION = re.compile(r"(\d{1,4})([hd]?)")
_SECONDS = {"": 3_600, "h": 3_600, "d": 86_400}


class Windows(msgspec.Struct, frozen=True):
    """The usual one, the shortest and the longest, as the vendor writes them; a bare number is hours.

    A study chooses with `field` in the `extra` of a model: it is of the batch, and in no request.
    """

    usual: str
    shortest: str
    longest: str
    field: str = "completion_window"

    def field_of(self, model: Model) -> dict[str, str | int]:
        """What a create says."""
        word = self._word(model)
        return {self.field: int(word) if word.isdecimal() else word}

    def within(self, limits: Limits, model: Model) -> Limits:
        """The limits, with the model's own window."""
        seconds = _seconds(self._word(model))
        return limits if seconds is None else msgspec.structs.replace(limits, window_seconds=seconds)

    def problems(self, model: Model) -> list[str]:
        asked = self._word(model)
        seconds, least, most = (_seconds(text) for text in (asked, self.shortest, self.longest))
        if seconds is not None and least is not None and most is not None and least <= seconds <= most:
            return []
        return [f"extra: `{self.field}` is '{asked[:40]}'; wanted {self.shortest} to {self.longest}"]

    def _word(self, model: Model) -> str:
        return str(model.options.extra.get(self.field, self.usual))


def _seconds(text: str) -> int | None:
    found = _DURATION.fullmatch(text)
    return int(found[1]) * _SECONDS[found[2]] if found else None
