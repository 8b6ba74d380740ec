"""A report's figures as files of their own, for a paper: SVG, CSV, and PNG on request."""

from collections.abc import Callable, Iterable
from pathlib import Path

from overnight.core.errors import StudyError
from overnight.reporting.drawing import WIDE, draw
from overnight.reporting.page.colours import own_rules
from overnight.reporting.page.html import table_csv
from overnight.reporting.parts import Figure

# Pixels for each pixel of the drawing: sharp in print.
_ZOOM = 3
_NO_LIBRARY = "PNG files need a library: pip install 'overnight[png]'"


def figure_svg(figure: Figure) -> str:
    """With its colours inside, on white."""
    drawn = draw(figure.drawing, WIDE, figure.title)
    head, _, body = drawn.partition(">")
    return f'{head}><style>{own_rules()}</style><rect width="100%" height="100%" fill="#ffffff"/>{body}\n'


def write_figures(figures: Iterable[Figure], folder: Path, *, png: bool = False) -> list[Path]:
    """`NAME.svg` and `NAME.csv` for each figure, and `NAME.png`; files that are there are replaced."""
    render = _renderer() if png else None
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            svg = figure_svg(figure)
            contents = {".svg": svg.encode(), ".csv": table_csv(figure.numbers)}
            if render is not None:
                contents[".png"] = render(svg)
            for ending, content in contents.items():
                path = folder / f"{figure.name}{ending}"
                path.write_bytes(content)
                written.append(path)
    except OSError as error:
        message = f"--figures {folder}: cannot write: {error.strerror or error}"
        raise StudyError(message) from error
    return written


def _renderer() -> Callable[[str], bytes]:
    try:
        import resvg_py  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StudyError(_NO_LIBRARY) from error
    return lambda svg: bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM))
