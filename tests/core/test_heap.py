"""Memory that was freed goes back to the system, where its library can be told so."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from overnight.core import heap

_HELD = """
import threading
from pathlib import Path
from overnight.core import heap

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

heap.share()
def fill():
    kept = [bytes(600 + n % 90) for n in range(60_000)]
    last.append(kept[-1])
last = []
for _ in range(3):
    thread = threading.Thread(target=fill)
    thread.start()
    thread.join()
before = resident()
heap.trim()
print(before - resident())
"""


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists() or not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="no glibc"
)
def test_what_threads_have_freed_goes_back() -> None:
    told = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True)
    assert int(told.stdout) > 20_000_000


def test_a_library_that_cannot_be_told_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_library", lambda: None)
    heap.share()
    heap.trim()
