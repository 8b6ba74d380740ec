"""Tasks come by their entry points, each loaded when somebody names it."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from overnight.core.errors import StudyError, UnknownName
from overnight.core.plugins import by_name
from overnight.study.task_registry import all_own_keys, load, own_keys, task_kind, task_names


def test_tasks_go_by_the_names_of_their_entry_points():
    assert {"compare", "comply", "flips", "generate", "grade", "pressure", "rank"} <= set(task_names())
    assert all(task_kind(name).name == name for name in task_names())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("generat", "unknown task 'generat'; did you mean 'generate'? (known: compare, "),
        ("judge", "unknown task 'judge' (known: compare, "),
        ("_pairing", "unknown task '_pairing' (known: compare, "),
    ],
)
def test_what_is_no_task_is_said(name, message):
    with pytest.raises(UnknownName) as caught:
        task_kind(name)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", task_names())
def test_every_task_can_be_opened_again(name):
    kind = task_kind(name)
    task = kind.open([], {})
    assert task.name == name
    assert kind.open([], task.spec()).spec() == task.spec()


def test_two_tasks_may_share_a_key():
    both = [own_keys(task_kind(name)) for name in ("compare", "generate")]
    assert all("templates" in keys for keys in both)
    assert list(all_own_keys()).count("templates") == 1


def point(name, value):
    return EntryPoint(name, value, "overnight.tasks")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("overnight.tasks.nothing:kind", "task 'mine' cannot be loaded from overnight.tasks.nothing:kind: No module"),
        ("overnight.tasks.compare:nothing", "task 'mine' cannot be loaded from overnight.tasks.compare:nothing: "),
        ("overnight.tasks.compare:kind", "task 'mine': overnight.tasks.compare:kind is not a task of that name"),
        ("os:name", "task 'mine': os:name is not a task of that name"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_said(value, message):
    with pytest.raises(StudyError) as caught:
        load(point("mine", value))
    assert str(caught.value).startswith(message)


def test_two_packages_may_not_claim_one_name():
    with pytest.raises(StudyError) as caught:
        by_name([point("mine", "b:kind"), point("mine", "a:kind")], "task")
    assert str(caught.value) == "task 'mine' is claimed by two packages; uninstall one (b:kind)"


def test_a_task_that_nobody_names_is_not_loaded():
    program = """
import sys
from overnight.study import Study
Study(name="x", task="generate", items=[{"id": "1", "text": "a"}], prompt="{text}", models=["openai/gpt-4.1"])
print("overnight.tasks.generate" in sys.modules, "overnight.tasks.compare" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False"]
