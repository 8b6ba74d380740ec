"""How the scripts of this folder say what they saw."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path


class Defect(Exception):
    """The client cannot do this by its own fault; what was seen of it."""


MANUAL = Path(__file__).resolve().parents[2] / "docs" / "emulator.md"


def manual(client: str) -> Callable[[], str]:
    """Runs the manual's own example for a client."""

    def example() -> str:
        (block,) = re.findall(rf"```python {client}\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
        names: dict[str, object] = {}
        exec(block, names)
        deeds = [deed for name, deed in names.items() if name.startswith("test_") and callable(deed)]
        for deed in deeds:
            deed()
        assert deeds
        return "as the manual has it"

    return example


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
