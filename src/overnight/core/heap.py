"""What the C library and polars keep of memory that was freed: some tens of megabytes, unless they are told otherwise.

Each thread gets a heap of its own there, and what one of them has freed serves no other. Here one thread reads answers,
another writes them down, and a third makes tables: three heaps, each as large as its thread has ever needed. Python
lets one thread run at a time, so that a heap for all costs nobody any waiting.

Only glibc is told. Elsewhere nothing happens, and nothing is lost but room.
"""

import ctypes
import os
from contextlib import suppress
from functools import cache
from typing import Any

# As <malloc.h> has it.
_M_ARENA_MAX = -8


@cache
def _library() -> Any:
    """None where it cannot be asked."""
    with suppress(OSError, TypeError):
        library = ctypes.CDLL(None)
        if hasattr(library, "gnu_get_libc_version"):
            return library
    return None


def share() -> None:
    """Threads that begin from now on use the heap that is there."""
    if (library := _library()) is not None:
        library.mallopt(_M_ARENA_MAX, 1)


def trim() -> None:
    """What nobody uses goes back to the system."""
    if (library := _library()) is not None:
        library.malloc_trim(0)


def let_polars_give_back() -> None:
    """What polars frees goes back after a hundredth of a second, and not after half of one: 20 MB of a run's peak.

    All of its threads share one heap, and none keeps what it has freed to itself: 10 MB more.

    Polars reads it when it is loaded, and so do child processes: for a process that is ours, before it loads polars.
    Whoever has set it keeps what they have set.
    """
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10,muzzy_decay_ms:0,narenas:1,tcache:false")
