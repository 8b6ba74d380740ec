"""A surface to draw on: shapes with classes, in whole tenths of a pixel."""

from overnight.reporting.shown_text import cut, escaped

SIZE = 12
# Wide letters of most faces; better a label cut too early than one that runs out of the page.
_LETTER = 0.58


def text_width(text: str, size: float = SIZE) -> float:
    return len(text) * size * _LETTER


def fitted(text: str, width: float, size: float = SIZE) -> str:
    """As much of a label as has room."""
    return cut(text, max(4, int(width / (size * _LETTER))))


def place(value: float) -> str:
    """A coordinate: one decimal, and none where it is nought."""
    text = f"{value:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in ("-0.0", "0.0") else text.removesuffix(".0")


class Canvas:
    """Grows downwards as it is drawn on."""

    def __init__(self, width: int, *, narrow: bool) -> None:
        self.width = width
        self.narrow = narrow
        self.height = 0.0
        self._shapes: list[str] = []

    def reach(self, y: float) -> None:
        self.height = max(self.height, y)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        ends = f'x1="{place(x1)}" y1="{place(y1)}" x2="{place(x2)}" y2="{place(y2)}"'
        self._shapes.append(f'<line class="{kind}" {ends}/>')
        self.reach(max(y1, y2))

    def dot(self, x: float, y: float, kind: str = "dot") -> None:
        self._shapes.append(f'<circle class="{kind}" cx="{place(x)}" cy="{place(y)}" r="{4 if self.narrow else 4.5}"/>')

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, strength: float | None = None, title: str = ""
    ) -> None:
        """`strength` is how far the colour covers what is behind it; the title shows on a longer look."""
        size = f'x="{place(x)}" y="{place(y)}" width="{place(max(width, 0))}" height="{place(height)}"'
        opacity = "" if strength is None else f' fill-opacity="{strength:.2f}"'
        end = f"><title>{escaped(title)}</title></rect>" if title else "/>"
        self._shapes.append(f'<rect class="{kind}" {size}{opacity}{end}')
        self.reach(y + height)

    def path(self, points: list[tuple[float, float]], kind: str, *, closed: bool = False) -> None:
        steps = "L".join(f"{place(x)} {place(y)}" for x, y in points)
        self._shapes.append(f'<path class="{kind}" d="M{steps}{"Z" if closed else ""}"/>')

    def text(
        self, x: float, y: float, text: str, kind: str = "label", anchor: str = "start", *, full: str | None = None
    ) -> None:
        """`full` is the whole of a label that was cut. Nothing is written of what is empty."""
        if not text:
            return
        turned = "" if anchor == "start" else f' text-anchor="{anchor}"'
        more = f"<title>{escaped(full)}</title>" if full is not None and full != text else ""
        self._shapes.append(f'<text class="{kind}" x="{place(x)}" y="{place(y)}"{turned}>{escaped(text)}{more}</text>')
        self.reach(y + 4)

    def svg(self, title: str) -> str:
        height = place(self.height + 2)
        kind = "narrow" if self.narrow else "wide"
        return (
            f'<svg class="figure {kind}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" '
            f'role="img" aria-label="{escaped(title)}">{"".join(self._shapes)}</svg>'
        )
