"""`notify` in a study: what may stand there, and that nothing of a secret is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overnight import Study
from overnight.core.errors import StudyError
from overnight.study import differences, resolve
from overnight.study.notify import read_notify
from overnight.study.origin import Origin

SECRET = "xoxbS3cret0123456789abcd"
ELSEWHERE = "put it into an environment variable and write $NAME here, such as $NOTIFY_SLACK"
WANTED = "wanted an address that begins with https://, `desktop`, or $NAME, a variable that holds the address"


def test_what_may_stand_there() -> None:
    written = ["https://hooks.example/done", "http://127.0.0.1:8000", "desktop", "$LAB_SLACK", {"env": "LAB_MAIL"}]
    kept = [target.text for target in read_notify(written, Origin())]
    assert kept == ["https://hooks.example/done", "http://127.0.0.1:8000", "desktop", "$LAB_SLACK", "$LAB_MAIL"]
    assert read_notify(None, Origin()) == ()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (f"slack://{SECRET}", "notify: wanted a list, such as [https://hooks.example/done]"),
        ([], "notify: the list is empty"),
        ([7], f"notify[0]: {WANTED}"),
        ([{"env": 7}], f"notify[0]: {WANTED}"),
        ([{"env": "A", "and": "B"}], f"notify[0]: {WANTED}"),
        (["$1"], f"notify[0]: {WANTED}"),
        ([SECRET], f"notify[0]: {WANTED}"),
        (["https://"], f"notify[0]: {WANTED}"),
        (["https://hooks.example/a b"], f"notify[0]: {WANTED}"),
        (["http://[1"], f"notify[0]: {WANTED}"),
        (["desktop", "desktop"], "notify[1]: it is listed twice"),
        (["$A", {"env": "A"}], "notify[1]: it is listed twice"),
        ([f"${name}" for name in "ABCDEFGHIJKLMNOPQRSTU"], "notify: 21 targets; 20 are the most"),
        ([f"mailto://me:{SECRET}@example.com"], f"notify[0]: such an address holds secrets; {ELSEWHERE}"),
        ([f"https://me:{SECRET}@hooks.example/"], f"notify[0]: this address seems to hold a secret; {ELSEWHERE}"),
        ([f"https://hooks.example/{SECRET}"], f"notify[0]: this address seems to hold a secret; {ELSEWHERE}"),
        (["https://hooks.example/done?key=1"], f"notify[0]: this address seems to hold a secret; {ELSEWHERE}"),
    ],
)
def test_what_may_not(written: Any, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        Study(name="a", task="generate", items=[{"id": "1", "text": "x"}], prompt="{text}", models=["openai/gpt-4.1"],
              notify=written)  # fmt: skip
    assert str(caught.value) == f"study: {message}"
    assert SECRET not in str(caught.value)


def study(folder: Path, *lines: str) -> Study:
    text = "name: fruit\ntask: generate\nitems: [{id: a, text: x}]\nprompt: '{text}'\nmodels: [openai/gpt-4.1]\n"
    (folder / "fruit.yaml").write_text(text + "".join(f"{line}\n" for line in lines))
    return Study.load(folder / "fruit.yaml")


def test_it_is_said_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"fruit\.yaml:6:20: notify\[1\]: wanted an address"):
        study(tmp_path, "notify: [desktop,  ftp]")


def test_it_may_change_between_runs(tmp_path: Path) -> None:
    before = resolve(study(tmp_path)).definition
    after = resolve(study(tmp_path, "notify: [$LAB_SLACK]"))
    assert after.definition == before
    assert differences(before, after.definition) == []
    assert [target.where.rpartition("/")[2] for target in after.notify] == ["fruit.yaml:6:10: notify[0]"]
