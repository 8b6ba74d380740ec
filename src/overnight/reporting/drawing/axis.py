"""Scales and ticks."""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from overnight.reporting.drawing.canvas import SIZE, Canvas, text_width
from overnight.reporting.wording import number_text

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TIMES = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000)


class Scale(msgspec.Struct, frozen=True):
    """From values to pixels."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)


def scale_of(values: Iterable[float | None], begin: float, end: float, keep: Sequence[float] = ()) -> Scale:
    """A scale on which all finite values are, and those to keep, with a little room on both sides."""
    finite = [value for value in (*values, *keep) if value is not None and math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if high - low < 1e-12:
        low, high = low - 0.5, high + 0.5
    room = (high - low) * 0.04
    return Scale(low - room, high + room, begin, end)


def within_shares(scale: Scale, values: Iterable[float | None]) -> Scale:
    """A share is never below nought or above one, and an axis that is nearly whole is made so.

    A difference of shares may be below nought: then the scale stays as it is.
    """
    if any(value is not None and not -1e-9 <= value <= 1 + 1e-9 for value in values if value == value):  # noqa: PLR0124
        return scale
    low, high = max(scale.low, 0.0), min(scale.high, 1.0)
    return Scale(0.0 if low < 0.08 else low, 1.0 if high > 0.92 else high, scale.begin, scale.end)


def ticks(scale: Scale, room: float, *, whole: bool = False) -> list[float]:
    """Round numbers on the scale, as many as have so many pixels each; `whole`: none between two whole numbers."""
    most = max(2, int(abs(scale.end - scale.begin) / room))
    least = (scale.high - scale.low) / most
    least = max(least, 1.0) if whole else least
    power = 10.0 ** math.floor(math.log10(least))
    steps = [power * factor for factor in _STEPS if not whole or (power * factor).is_integer()]
    step = next(one for one in steps if one >= least * 0.999)
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_text(value: float, step: float, *, percent: bool = False) -> str:
    shown, step = (100 * value, 100 * step) if percent else (value, step)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    if step and abs(step * 10**decimals - round(step * 10**decimals)) > 1e-6:
        decimals += 1
    return number_text(shown, decimals) + ("%" if percent else "")


def bottom_axis(
    canvas: Canvas,
    scale: Scale,
    top: float,
    bottom: float,
    words: str,
    *,
    percent: bool = False,
    dollars: bool = False,
    whole: bool = False,
) -> None:
    """Grid lines from top to bottom, numbers under them, and what they are."""
    marks = ticks(scale, 56 if canvas.narrow else 72, whole=whole)
    step = marks[1] - marks[0] if len(marks) > 1 else 1.0
    for value in marks:
        x = scale(value)
        canvas.line(x, top, x, bottom, "grid")
        text = ("$" if dollars else "") + tick_text(value, step, percent=percent)
        canvas.text(_kept_in(x, text, canvas), bottom + 16, text, "tick", "middle")
    centre = _kept_in((scale.begin + scale.end) / 2, words, canvas)
    canvas.text(centre, bottom + 34, words, "tick", "middle")


def time_axis(canvas: Canvas, scale: Scale, top: float, bottom: float) -> None:
    """The same with times of day, or dates, in UTC."""
    span = scale.high - scale.low
    most = max(2, int((scale.end - scale.begin) / (70 if canvas.narrow else 90)))
    step = next((one for one in _TIMES if span / one <= most), _TIMES[-1])
    first = math.ceil(scale.low / step)
    for number in range(first, math.floor(scale.high / step) + 1):
        x, text = scale(number * step), _time_text(number * step, step)
        canvas.line(x, top, x, bottom, "grid")
        canvas.text(_kept_in(x, text, canvas), bottom + 16, text, "tick", "middle")
    day = datetime.fromtimestamp(scale.low, UTC).strftime("%Y-%m-%d")
    canvas.text((scale.begin + scale.end) / 2, bottom + 34, f"time in UTC, from {day}", "tick", "middle")


def _time_text(at: float, step: int) -> str:
    form = "%Y-%m-%d" if step >= 86400 else "%H:%M" if step >= 60 else "%H:%M:%S"
    return datetime.fromtimestamp(at, UTC).strftime(form)


def _kept_in(x: float, text: str, canvas: Canvas) -> float:
    """Where a centred text stays on the canvas."""
    half = text_width(text, SIZE - 1) / 2
    return min(max(x, half), canvas.width - half) if 2 * half < canvas.width else canvas.width / 2
