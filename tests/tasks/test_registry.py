import pytest

from overnight.core.errors import UnknownName
from overnight.tasks import check_task, task_names


def test_tasks_go_by_file_name():
    assert "generate" in task_names()
    assert not [name for name in task_names() if name.startswith("_")]
    check_task("generate")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("generat", "unknown task 'generat'; did you mean 'generate'? (known: generate)"),
        ("compare", "unknown task 'compare' (known: generate)"),
        ("_contract", "unknown task '_contract' (known: generate)"),
    ],
)
def test_what_is_no_task_is_said(name, message):
    with pytest.raises(UnknownName) as caught:
        check_task(name)
    assert str(caught.value) == message
