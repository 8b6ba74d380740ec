"""What can happen to a file on disk, besides being left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], object]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])


def zeros(path: Path) -> None:
    """The length is on disk, the bytes are not: as after a power cut."""
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(data[:half] + bytes(len(data) - half))


def flipped(path: Path) -> None:
    """One bit, inside of a text."""
    data = bytearray(path.read_bytes())
    data[data.index(b"thing") + 2] ^= 1
    path.write_bytes(data)


def swapped(path: Path) -> None:
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((second, first, *rest)))


def replaced(path: Path) -> None:
    """A row's line is another row's, of the same length, and as good a line as any."""
    lines = path.read_bytes().splitlines()
    short, long = sorted(range(len(lines)), key=lambda n: len(lines[n]))[:: len(lines) - 1]
    lines[long] = lines[short].ljust(len(lines[long]))
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def older(path: Path) -> None:
    """As it was before the last lines came."""
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_link(path: Path) -> None:
    """To a file that is another by one bit."""
    aside = path.parent.parent / f"aside-{path.name}"
    path.rename(aside)
    flipped(aside)
    path.symlink_to(aside)


def a_link_to_the_same(path: Path) -> None:
    """To the file itself, which somebody has put elsewhere: whose it is tomorrow, nobody knows."""
    aside = path.parent.parent / f"aside-{path.name}"
    path.rename(aside)
    path.symlink_to(aside)


def a_link_to_a_folder(path: Path) -> None:
    path.unlink()
    path.symlink_to("..")


DAMAGES: dict[str, Damage] = {
    "cut": cut,
    "zeros": zeros,
    "flipped": flipped,
    "swapped": swapped,
    "replaced": replaced,
    "emptied": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
    "a folder": a_folder,
    "a link": a_link,
    "a link to the same": a_link_to_the_same,
    "a link to a folder": a_link_to_a_folder,
    "older": older,
}
LINKS = tuple(DAMAGES[name] for name in DAMAGES if name.startswith("a link"))


def largest(folder: Path) -> Path:
    return max(folder.glob("*.jsonl"), key=lambda path: path.stat().st_size)
