"""The colours of page and figures, by day and by night, and the figures' own rules.

A figure in a file of its own has no page around it: its rules then carry the colours of the day.
"""

import re

LIGHT = {
    "page": "#ffffff",
    "card": "#f5f7fa",
    "ink": "#1a1f29",
    "soft": "#586174",
    "line": "#dde2ea",
    "accent": "#1a5cc8",
    "good": "#3573d9",
    "middling": "#d99a2b",
    "light": "#e6c98a",
    "bad": "#c2412d",
    "odd": "#8058b8",
    "none": "#b3bac6",
    "up": "#3573d9",
    "down": "#d97a1e",
}
DARK = {
    "page": "#12161d",
    "card": "#1a202a",
    "ink": "#e8ebf1",
    "soft": "#a6b0c0",
    "line": "#2d3541",
    "accent": "#85b4ff",
    "good": "#6ba1f5",
    "middling": "#e0ad4f",
    "light": "#8a7440",
    "bad": "#ef7b66",
    "odd": "#b796ec",
    "none": "#5d6776",
    "up": "#5b96f5",
    "down": "#e08a35",
}
# Lines are told apart by colour and by dash: nobody has to see colours.
_LINES = (
    ("good", "none"),
    ("down", "none"),
    ("odd", "none"),
    ("bad", "none"),
    ("good", "6 3"),
    ("down", "6 3"),
    ("odd", "6 3"),
    ("bad", "6 3"),
)
_RULES = """\
.figure text{font-family:system-ui,"Segoe UI","Liberation Sans",Helvetica,Arial,sans-serif;font-size:12px}
.figure text{fill:var(--ink)}
.figure .label,.figure .tick{paint-order:stroke;stroke:var(--page);stroke-width:4px;stroke-linejoin:round}
.figure .tick{font-size:11px;fill:var(--soft)}
.figure .cell{font-size:11px}
.figure .grid{stroke:var(--line);stroke-width:1}
.figure .reference{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:3 3}
.figure .whisker{stroke:var(--good);stroke-width:3;stroke-linecap:round}
.figure.narrow .whisker{stroke-width:3.5}
.figure .dot{fill:var(--page);stroke:var(--good);stroke-width:2.5}
.figure .up{fill:var(--up)}
.figure .down{fill:var(--down)}
.figure .empty{fill:var(--card)}
.figure .bar.good{fill:var(--good)}
.figure .bar.middling{fill:var(--middling)}
.figure .bar.light{fill:var(--light)}
.figure .bar.bad{fill:var(--bad)}
.figure .bar.odd{fill:var(--odd)}
.figure .bar.none{fill:var(--none)}
.figure .steps{fill:none;stroke-width:2}
.figure .band{stroke:none;fill-opacity:.18}
.figure .band.faint{fill-opacity:.1}
"""


def figure_rules() -> str:
    """For a page that has the colours."""
    lines = "".join(
        f".figure .steps.kind{number}{{stroke:var(--{name});stroke-dasharray:{dash}}}"
        f".figure .band.kind{number}{{fill:var(--{name})}}\n"
        for number, (name, dash) in enumerate(_LINES)
    )
    return _RULES + lines


def own_rules() -> str:
    """For a figure that stands alone."""
    return re.sub(r"var\(--(\w+)\)", lambda found: LIGHT[found[1]], figure_rules())


def colour_rules() -> str:
    """Both sets for a page; paper is always light."""
    day, night = ("".join(f"--{name}:{value};" for name, value in one.items()) for one in (LIGHT, DARK))
    return (
        f":root{{color-scheme:light dark;{day}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{night}}}}}\n"
        f"@media print{{:root{{color-scheme:light;{day}}}}}\n"
    )
