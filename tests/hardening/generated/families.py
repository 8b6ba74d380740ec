"""The families of malformed input that are typed at the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hardening.generated.cases import Case
from hardening.generated.files import files
from hardening.generated.flags import flags
from hardening.generated.folders import folders, open_folders, staged_folders
from hardening.generated.paid_rows import paid_rows, paid_staged_rows
from hardening.generated.python_calls import calls
from hardening.generated.studies import studies
from hardening.generated.tables import items, verdicts

FAMILIES: dict[str, Callable[[], Iterator[Case]]] = {
    "studies": studies,
    "items": items,
    "verdicts": verdicts,
    "files": files,
    "flags": flags,
    "folders": folders,
    "staged folders": staged_folders,
    "open folders": open_folders,
    "paid rows": paid_rows,
    "paid staged rows": paid_staged_rows,
    "calls": calls,
}
