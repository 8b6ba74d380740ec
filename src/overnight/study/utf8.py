"""Text files: UTF-8, with or without a mark at the start, UTF-16 with one, and precise about what is neither."""

import codecs
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from overnight.core.errors import StudyError


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """The file for reading; whatever keeps it from being read is said in words, also while reading on."""
    try:
        check_plain(path)
        encoding = _encoding(path)
        with path.open(encoding=encoding, newline=newline) as file:
            yield file
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except UnicodeError as error:
        raise StudyError(f"{path}: {error}; save the file as UTF-8") from None
    except OSError as error:
        raise unreadable(path, error) from None


def _encoding(path: Path) -> str:
    """Some programs save "Unicode text" as UTF-16; the mark at its start tells."""
    with path.open("rb") as file:
        start = file.read(2)
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def read_text(path: Path) -> str:
    """The whole file, every kind of line end as `\\n`: a prompt is the same on every machine."""
    with open_text(path) as file:
        return file.read()


def check_plain(path: Path) -> None:
    """Only a file on a disk ends, and reads the same again: a pipe or a device may do neither."""
    mode = path.stat().st_mode
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    if kind := kinds.get(stat.S_IFMT(mode)):
        raise StudyError(f"{path}: this is {kind}, not a file; save what it says to a file first")


def unreadable(path: Path, error: OSError) -> StudyError:
    reasons: dict[type[OSError], str] = {
        FileNotFoundError: "no such file",
        IsADirectoryError: "this is a folder, not a file",
        PermissionError: "no permission to read it",
    }
    return StudyError(f"{path}: {reasons.get(type(error), error.strerror or 'cannot be read')}")


def not_utf8(path: Path) -> StudyError:
    """Names the first byte that is not UTF-8, what it may be, and what to do."""
    if _encoding(path) == "utf-16":
        return StudyError(f"{path}: begins as UTF-16, and goes on as something else; save the file as UTF-8")
    todo = f"save the file as UTF-8, or: iconv -f WINDOWS-1252 -t UTF-8 {path.name} > utf8-{path.name}"
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                wrong = line[error.start : error.start + 1]
                letter = wrong.decode("cp1252", errors="replace")
                perhaps = f", {letter} in Windows-1252" if letter.isprintable() and letter != "\ufffd" else ""
                byte = f"byte {error.start + 1} of the line (0x{wrong.hex()}{perhaps})"
                return StudyError(f"{path}:{number}: {byte} is not UTF-8; {todo}")
    return StudyError(f"{path}: not UTF-8; {todo}")
