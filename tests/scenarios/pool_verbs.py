"""What `status --check` asks, as a verb of its own: how many open batches their providers know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from overnight.api.checking import check_batches
from overnight.settings import settings
from overnight.store.run_folder import RunFolder


def checked_batches(name: str, *, say: Callable[[str], None]) -> None:
    found = check_batches(RunFolder(Path("runs") / name), settings())
    known = sum(one.trouble is None and one.status != "not known to the provider" for one in found)
    say(f"{known} of {len(found)} known to their providers")
