"""Text files: UTF-8, with or without a mark at the start, and precise about what is not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from overnight.core.errors import StudyError


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """The file for reading; whatever keeps it from being read is said in words, also while reading on."""
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield file
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except OSError as error:
        raise unreadable(path, error) from None


def read_text(path: Path) -> str:
    """The whole file, every kind of line end as `\\n`: a prompt is the same on every machine."""
    with open_text(path) as file:
        return file.read()


def unreadable(path: Path, error: OSError) -> StudyError:
    reasons: dict[type[OSError], str] = {
        FileNotFoundError: "no such file",
        IsADirectoryError: "this is a folder, not a file",
        PermissionError: "no permission to read it",
    }
    return StudyError(f"{path}: {reasons.get(type(error), error.strerror or 'cannot be read')}")


def not_utf8(path: Path) -> StudyError:
    """Names the first byte that is not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                byte = f"byte {error.start + 1} of the line (0x{line[error.start]:02x})"
                return StudyError(f"{path}:{number}: {byte} is not UTF-8; save the file as UTF-8")
    return StudyError(f"{path}: not UTF-8; save the file as UTF-8")
