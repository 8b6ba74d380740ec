"""The filter of a listing: comparisons joined by AND, as far as batch prediction jobs can be found by them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from overnight_emulator.dialects.google.errors import GoogleError

_TERM = re.compile(r'\s*([\w.-]+)\s*(!=|>=|<=|=|>|<|:)\s*(?:"([^"]*)"|(\S+))\s*')
_AND = re.compile(r"\s+AND\s+")
_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    ":": fnmatchcase,
}


def fits(job: dict[str, Any], text: str) -> bool:
    """Whether a job, as it is shown, is one that the filter wants."""
    return all(_term_fits(job, term) for term in _AND.split(text.strip())) if text.strip() else True


def _term_fits(job: dict[str, Any], term: str) -> bool:
    found = _TERM.fullmatch(term)
    if found is None:
        raise GoogleError(400, f"Invalid filter: '{term}'.")
    field, comparison = found[1], _COMPARISONS[found[2]]
    value = found[3] if found[3] is not None else found[4]
    if field.startswith("labels."):
        return comparison(job.get("labels", {}).get(field.removeprefix("labels."), ""), value)
    fields = {"display_name": "displayName", "state": "state", "create_time": "createTime", "model": "model"}
    if field not in fields:
        raise GoogleError(400, f"Invalid filter: unknown field '{field}'.")
    return comparison(str(job.get(fields[field], "")), value)
