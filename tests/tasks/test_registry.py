from typing import ClassVar

import pytest

from overnight.core.errors import UnknownName
from overnight.core.task import Rounds
from overnight.tasks import check_task, open_task, task_names
from overnight.tasks.generate import Generate


def test_tasks_go_by_file_name():
    assert "generate" in task_names()
    assert not [name for name in task_names() if name.startswith("_")]
    check_task("generate")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("generat", "unknown task 'generat'; did you mean 'generate'? (known: compare, generate)"),
        ("judge", "unknown task 'judge' (known: compare, generate)"),
        ("_ready", "unknown task '_ready' (known: compare, generate)"),
    ],
)
def test_what_is_no_task_is_said(name, message):
    with pytest.raises(UnknownName) as caught:
        check_task(name)
    assert str(caught.value) == message


def test_every_task_can_be_opened_again():
    for name in task_names():
        task = open_task(name, [], {})
        assert task.name == name
        assert open_task(name, [], task.spec()).spec() == task.spec()
    assert open_task("ready", [], {}).name == "ready"


def test_what_cannot_be_opened_is_said():
    with pytest.raises(UnknownName) as caught:
        open_task("generat", [], {})
    assert str(caught.value) == "unknown task 'generat'; did you mean 'generate'? (known: compare, generate, ready)"


class Adaptive:
    """A design that looks at the rows so far: one more question for each of them."""

    name = "adaptive"
    version = "1"
    columns: ClassVar = {}
    reads_items = False
    most_turns = 1

    def start(self, items, seed):
        yield from ()

    def next_round(self, n, items, rows, seed):
        yield from ()

    def read(self, thread):
        yield from ()

    def spec(self):
        return {}


def test_rounds_are_told_from_tasks():
    assert isinstance(Adaptive(), Rounds)
    assert not isinstance(Generate([]), Rounds)
