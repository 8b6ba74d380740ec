"""Nothing that libraries log while somebody is told reaches a log: their lines hold addresses, and these secrets."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Who logs an address on its way: the library of services, and what it sends with.
_LOGGERS = ("apprise", "requests", "urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry")
_here = threading.local()


class _NotHere(logging.Filter):
    """Other threads of the program may use the same libraries, and log what they like."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - see the class above it
        return not getattr(_here, "unlogged", False)


_FILTER = _NotHere()


@contextmanager
def unlogged() -> Iterator[None]:
    """For what this thread does in the block."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)  # once: a filter that is there is not added again
    before = getattr(_here, "unlogged", False)
    _here.unlogged = True
    try:
        yield
    finally:
        _here.unlogged = before
