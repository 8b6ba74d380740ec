"""The forms in which writers and judges answer, and the strict reading of them. What cannot be read is nothing."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from overnight.tasks._judging.form import GRADES, objects_in

# What an arm is asked for; it is the arm's template as well.
Role = Literal["scenarios", "questions", "answer", "rating"]
_TEXT = {"type": "string"}


class Idea(NamedTuple):
    """A scenario as it was written."""

    category: str
    text: str


class Rating(NamedTuple):
    """What a judge says of an input: whether it can be used, and the grade of 1 to 5 that stands for its difficulty."""

    usable: bool
    grade: int
    explanation: str | None = None


def schema_of(role: Role) -> dict[str, Any] | None:
    match role:
        case "scenarios":
            return _object(scenarios=_list(_object(category=_TEXT, scenario=_TEXT)))
        case "questions":
            return _object(inputs=_list(_TEXT))
        case "rating":
            grade = {"type": "integer", "enum": list(GRADES)}
            return _object(explanation=_TEXT, usable={"type": "boolean"}, rating=grade)
        case "answer":
            return None


def _object(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def read_scenarios(answer: str) -> list[Idea | None] | None:
    """As they are listed, nothing in the place of one that is blank; None where no one list can be read."""
    listed = _only_list(answer, "scenarios")
    return None if listed is None else [_idea(one) for one in listed]


def _idea(one: Any) -> Idea | None:
    if isinstance(one, str):
        return Idea("", one.strip()) if one.strip() else None
    if not isinstance(one, dict):
        return None
    category, text = one.get("category"), one.get("scenario")
    if not isinstance(text, str) or not text.strip():
        return None
    return Idea(category.strip() if isinstance(category, str) else "", text.strip())


def read_questions(answer: str) -> list[str | None] | None:
    listed = _only_list(answer, "inputs")
    if listed is None:
        return None
    return [one.strip() if isinstance(one, str) and one.strip() else None for one in listed]


def read_rating(answer: str) -> Rating | None:
    """Two ratings that differ are none."""
    objects = [one for one in objects_in(answer) if "rating" in one]
    said = {_rating(one) for one in objects}
    if len(said) != 1:
        return None
    (rating,) = said
    if rating is None:
        return None
    reason = objects[0].get("explanation")
    return rating._replace(explanation=reason if isinstance(reason, str) else None)


def _rating(one: Mapping[str, Any]) -> Rating | None:
    usable, grade = one.get("usable"), one.get("rating")
    if isinstance(grade, float) and grade.is_integer():
        grade = int(grade)
    if not isinstance(usable, bool) or isinstance(grade, bool) or grade not in GRADES:
        return None
    return Rating(usable, int(grade))


def _only_list(answer: str, field: str) -> list[Any] | None:
    found = [one[field] for one in objects_in(answer) if isinstance(one.get(field), list)]
    if not found or any(one != found[0] for one in found):
        return None
    listed: list[Any] = found[0]
    return listed
