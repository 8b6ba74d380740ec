"""What the C library keeps of memory that was freed: some tens of megabytes, unless it is told otherwise.

Each thread gets a heap of its own there, and what one of them has freed serves no other. Here one thread reads answers,
another writes them down, and a third makes tables: three heaps, each as large as its thread has ever needed. Python
lets one thread run at a time, so that a heap for all costs nobody any waiting.

Only glibc is told. Elsewhere nothing happens, and nothing is lost but room.
"""

import ctypes
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
