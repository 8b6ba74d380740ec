"""Small studies for the tests to change one thing in."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from overnight.core.errors import StudyError
from overnight.study import Study

ITEMS = [{"ID": "S01", "text": "one"}, {"ID": "S02", "text": "two"}]


def a_study(**changes: Any) -> Study:
    """A study that is right but for what is changed; a change to None takes the field out."""
    fields: dict[str, Any] = {
        "name": "essay",
        "task": "generate",
        "items": ITEMS,
        "prompt": "Grade: {text}",
        "models": ["openai/gpt-4.1"],
    }
    fields |= changes
    return Study(**{name: value for name, value in fields.items() if value is not None})


ANSWERS = {"name": "answers", "task": "generate", "items": ITEMS, "prompt": "{text}", "models": ["openai/gpt-4.1"]}
JUDGING = {"name": "judging", "task": "generate", "of": "answers", "prompt": "{answer}", "models": ["openai/gpt-5.1"]}


def changed(stage: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The stage with other values; a change to None takes the key out."""
    return {key: value for key, value in {**stage, **changes}.items() if value is not None}


def staged(*stages: Any, **changes: Any) -> Study:
    return Study(name="essay", stages=list(stages), **changes)


def write(folder: Path, text: str, name: str = "essay.yaml") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return path


def complaint(action: Any, kind: type[StudyError] = StudyError) -> str:
    """What the action refuses with, in full."""
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)
