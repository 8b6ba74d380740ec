"""How a command ends: with its exit code, and with one line on stderr when something is wrong.

0 done; 2 wrong use, study or folder; 3 rows failed for good; 4 provider or network; 5 budget; 130 stopped by the
user; 1 is a fault of our own.
"""

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TypeVar

from overnight.cli.flags import Voice
from overnight.core.errors import Interrupted, OutOfCredit, OvernightError, Throttled, Unavailable
from overnight.core.exit_codes import DONE, FAULT, RAY_THREAD, STOPPED, WRONG_USE
from overnight.core.surroundings import file_words
from overnight.terminal.plain_text import one_line, shortened, visible

T = TypeVar("T")

# As much of what is wrong as anybody reads; whatever is quoted in it may be of any length.
_LONGEST_LINE = 2_000

_SHORTEST_KEY = 8

# Errors of writing that mean that nobody is there any more: a pipe's reader, a terminal.
GONE = frozenset({errno.EPIPE, errno.EIO})


def exit_code_of(command: Callable[[], int | None], voice: Voice) -> int:
    """Run it. Whatever it raises becomes one line and a code, never a traceback that nobody asked for."""
    try:
        return command() or DONE
    except OvernightError as error:
        return complain(error, voice)
    except KeyboardInterrupt as stop:
        words = f"{stop}" if isinstance(stop, Interrupted) else "stopped"
        complain_line(f"{voice.typed(words)}; the same command again goes on from here")
        return STOPPED
    except BrokenPipeError:
        # The reader of our output has left, as `head` does: it has what it wanted.
        leave_pipe(sys.stdout)
        return DONE
    except OSError as error:
        return _complain(error, file_words(error), voice, WRONG_USE)
    except Exception as error:  # noqa: BLE001 - the process's edge
        hint = "" if voice.verbose else "; -v shows where"
        return _complain(
            error,
            f"a fault of Overnight's own: {type(error).__name__}: {_without_keys(str(error))}{hint}",
            voice,
            FAULT,
        )


def left(code: int) -> int:
    """The exit code. A thread that waits for a Ray that is gone would crash when Python tidies up: not so here."""
    waiting = [thread for thread in threading.enumerate() if thread.name == RAY_THREAD]
    for thread in waiting:
        thread.join(1.0)
    if any(thread.is_alive() for thread in waiting):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def gathered(verb: Callable[[], Iterable[T]]) -> tuple[list[T], int]:
    """The runs that a verb has worked on, also when Ctrl-C ended it; the code that it adds."""
    try:
        return list(verb()), DONE
    except Interrupted as stop:
        if not stop.runs:
            raise
        return stop.runs, STOPPED


def spared(work: Callable[[], T], what: str, voice: Voice) -> T | None:
    """What comes after the work that was asked for: whatever goes wrong in it is one line, and changes no exit code."""
    try:
        return work()
    except KeyboardInterrupt:
        complain_line(f"{what}: stopped")
    except Exception as error:  # noqa: BLE001 - the edge of what was asked for
        words = str(error) if isinstance(error, OvernightError) else f"{type(error).__name__}: {error}"
        _complain(error, f"{what}: {voice.typed(_without_keys(words))}", voice, DONE)
    return None


def complain(error: OvernightError, voice: Voice) -> int:
    """One line for the operator, where it came from if they asked; the exit code."""
    passing = isinstance(error, Throttled | Unavailable | OutOfCredit)
    advice = "; nothing is lost: the same command again goes on from here" if passing else ""
    return _complain(error, voice.typed(str(error)) + advice, voice, error.exit_code)


def _complain(error: BaseException, text: str, voice: Voice, code: int) -> int:
    with suppress(OSError):
        if voice.verbose:
            sys.stderr.write(visible(_without_keys("".join(traceback.format_exception(error)))))
        complain_line(text)
    return code


def _without_keys(text: str) -> str:
    """What an error of anybody's code holds may be anything: the keys in the environment are taken out."""
    # Imported late: only a command that fails needs it.
    from overnight.providers.reading.secrets import without_secrets  # noqa: PLC0415

    named = (value for name, value in os.environ.items() if "KEY" in name.upper() or "TOKEN" in name.upper())
    return without_secrets(text, *(value for value in named if len(value) >= _SHORTEST_KEY))


def complain_line(text: str) -> None:
    sys.stderr.write(f"overnight: {shortened(one_line(text), _LONGEST_LINE)}\n")
    sys.stderr.flush()


def leave_pipe(stream: IO[str]) -> None:
    """Let what is still buffered go nowhere, so that the interpreter's last flush does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM stops as Ctrl-C does: the step at hand is finished and put on record first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
