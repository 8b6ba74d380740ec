"""How the scripts of this folder say what they saw."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version


class Defect(Exception):
    """The client cannot do this by its own fault; what was seen of it."""


def tell(package: str, **tried: Callable[[], object]) -> None:
    """Try each thing; one that breaks is told as wrong, and the others are tried all the same."""
    failed = False
    for name, deed in tried.items():
        try:
            seen = deed()
        except Defect as defect:
            print(f"defect {package} {version(package)} {name}: {defect}", flush=True)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what it did
            traceback.print_exc()
            failed = True
            print(f"wrong {package} {version(package)} {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        else:
            word = "" if seen is None else f": {seen}"
            print(f"ok {package} {version(package)} {name}{word}", flush=True)
    sys.exit(1 if failed else 0)
