"""The house's own rules, checked by machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src").rglob("*.py"))
# Where a broad `except` may stand: the edges of threads, of tasks that run in the background, of a notebook's cell, and of
# the process.
EDGES = {
    *(
        "ledger.py",
        "foreground.py",
        "ending.py",
        "provider_account.py",
        "model_queue.py",
        "session.py",
        "telling.py",
        *("leader.py", "on_ray.py"),
    ),
    "run_cell.py",
}
AVOIDED = re.compile(r"(manager|processor|handler|helper|utils?|base|generic|common|misc)")


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in MODULES:
        yield path, ast.parse(path.read_text())


def test_there_is_a_house() -> None:
    assert len(MODULES) > 60


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_modules_are_short_and_named_for_a_concept(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400
    assert not AVOIDED.fullmatch(path.stem.strip("_"))


def test_functions_are_short() -> None:
    long = [
        f"{path.name}:{node.name} {_body_lines(node)}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _body_lines(node) > 50
    ]
    assert long == []


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """What a reader has to follow: neither a long list of documented flags nor the docstring."""
    first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or 0) - first.lineno + 1


def test_no_globals_and_no_broad_excepts_but_at_the_edges() -> None:
    found: list[str] = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                found.append(f"{path.name}:{node.lineno} global")
            if isinstance(node, ast.ExceptHandler) and _broad(node) and path.name not in EDGES:
                found.append(f"{path.name}:{node.lineno} broad except")
    assert found == []


def _broad(node: ast.ExceptHandler) -> bool:
    """Catches everything, and does not raise it again."""
    names = {"Exception", "BaseException"}
    everything = node.type is None or (isinstance(node.type, ast.Name) and node.type.id in names)
    again = any(isinstance(child, ast.Raise) and child.exc is None for child in ast.walk(node))
    return everything and not again


def test_nobody_says_the_name_of_a_task() -> None:
    """Tasks are found by their entry points; only they themselves, and the notebook functions, are of one."""
    names = {point.name for point in entry_points(group="overnight.tasks")}
    assert names >= {"compare", "generate", "rank"}
    names -= {"rank"}  # also a column of rankings, wherever they come from
    free = {"tasks", "pairwise", "speceval"}
    found = [
        f"{path.name}:{node.lineno} {node.value}"
        for path, tree in trees()
        if path.parts[len(ROOT.parts) + 1] == "overnight" and path.parts[len(ROOT.parts) + 2] not in free
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_modules_say_what_they_are() -> None:
    silent = [path.name for path, tree in trees() if tree.body and ast.get_docstring(tree) is None]
    assert silent == []


def test_nothing_is_left_open() -> None:
    marks = re.compile(r"\b(TODO|FIXME|HACK|NotImplementedError)\b")
    assert [path.name for path in MODULES if marks.search(path.read_text())] == []


def test_no_pinned_address() -> None:
    assert "://" not in (ROOT / "constraints.txt").read_text()


def test_every_module_is_used() -> None:
    """By another one, or by an entry point. `simulate` is for other people's tests, `reference` writes a page of docs."""
    points = [ROOT / "pyproject.toml", *ROOT.glob("packages/*/pyproject.toml")]
    words = {path: set(re.findall(r"\w+", path.read_text())) for path in [*MODULES, *points]}
    apart = {"__init__", "__main__", "simulate", "reference"}
    unused = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if path.stem not in apart and not any(path.stem in told for other, told in words.items() if other != path)
    ]
    assert unused == []
