"""The JSON schema an answer is held to: written in the study itself, or in a .json file beside it."""

import json
from pathlib import Path
from typing import Any

from overnight.study.origin import Origin, Route
from overnight.study.utf8 import read_text


def read_schema(written: str | dict[str, Any] | None, origin: Origin, route: Route) -> dict[str, Any] | None:
    if not isinstance(written, str):
        return written
    if not written.endswith(".json"):
        raise origin.error(route, f"wanted a mapping or the path of a .json file, found '{written}'")
    return _read_object(origin.path(written, route), origin, route)


def _read_object(path: Path, origin: Origin, route: Route) -> dict[str, Any]:
    if not path.is_file():
        raise origin.error(route, f"{path}: no such file")
    try:
        found = json.loads(read_text(path), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise origin.error(route, f"{place}: not JSON: {error.msg}") from None
    except ValueError as error:
        raise origin.error(route, f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise origin.error(route, f"{path}: a schema is an object in braces")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
