"""Output files of somebody else's batches: read whole and checked before a run is made of them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.core.files import plain_file
from overnight.core.names import check_item_id
from overnight.core.result import Line
from overnight.providers import answered_by, answers_in_order, batch_format, takes_batches, vendor, vendors

_GZIP = b"\x1f\x8b"
_LOOKED_AT = 1 << 12
# So many lines tell whose format a file has.
_ENOUGH_LINES = 100
_LIKELIEST = "openai"
BY_POSITION = "--by-position (join_by_position=True in Python)"
_RISK = "Google documents that such answers keep the order of the requests, but nothing in them proves it"


def no_keys_text(where: str) -> str:
    """Why answers without keys are not joined to anything, and what the user may decide."""
    return f"{where}: the answers carry no keys. To join them by their order, say {BY_POSITION}: {_RISK}"


def position_name(number: int) -> str:
    """What the row in this place is called, counted from 1; names sort as the places do."""
    return f"{number:06d}"


def read_output(path: Path, provider: str, *, by_position: bool = False) -> list[str]:
    """The custom ids of an output file, in its order. StudyError names the line that cannot be used.

    A file is taken whole or not at all: what a damaged line was about, nobody can say.
    """
    plain_file(path, "--output-file")
    _refuse_other_formats(path)
    reader, unread = batch_format(vendor(provider)), 0
    # Where each id was first seen, and what its row said.
    seen: dict[str, tuple[int, int]] = {}
    for number, line in lines_of(path, by_position=by_position):
        found = reader.decode(line)
        if found.custom_id is None:
            if not seen:
                _refuse_other_vendors(path, provider)
            raise StudyError(_unreadable(path, number, line, provider, found))
        check_item_id(found.custom_id, f"--output-file {path}:{number}")
        unread += found.result is None or found.result.cause == "unreadable"
        said = hash(found.result and (found.result.outcome, found.result.cause, found.result.answer))
        before, other = seen.setdefault(found.custom_id, (number, said))
        if other != said:
            repeated = f"custom_id '{found.custom_id}' is already on line {before}, with another answer"
            raise StudyError(f"--output-file {path}:{number}: {repeated}")
    if not seen:
        raise StudyError(f"--output-file {path}: the file is empty; wanted a {provider} batch's output")
    if unread == len(seen):
        _refuse_other_vendors(path, provider)
        raise StudyError(f"--output-file {path}: no line of {unread:,} has an answer of {provider} that can be read")
    return list(seen)


def lines_of(path: Path, *, by_position: bool = False) -> Iterator[tuple[int, bytes]]:
    """The lines of a user's file, each with its number; `by_position`: named by their places."""
    with path.open("rb") as content:
        yield from positioned(content, str(path)) if by_position else numbered(content)


def numbered(content: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, with its number."""
    for number, line in enumerate(content, 1):
        if text := line.strip():
            yield number, text


def positioned(content: Iterable[bytes], where: str) -> Iterator[tuple[int, bytes]]:
    """Each keyless answer with the name of its place put in."""
    for place, (number, line) in enumerate(numbered(content), 1):
        yield number, named_line(line, place, f"{where}:{number}")


def named_line(line: bytes, place: int, where: str) -> bytes:
    """A keyless answer with the name of its place; one that has a name of its own is refused."""
    try:
        answer: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StudyError(f"{where}: not a line of JSON: {error}; by position, every line counts") from None
    if not isinstance(answer, dict):
        raise StudyError(f"{where}: not an answer; by position, every line counts")
    if any(answer.get(name) is not None for name in ("key", "custom_id")) or _inner_key(answer):
        raise StudyError(f"{where}: the answers have keys; join them by these, without {BY_POSITION}")
    return msgspec.json.encode({"key": position_name(place), **answer})


def _inner_key(answer: dict[str, Any]) -> bool:
    metadata = answer.get("metadata")
    return isinstance(metadata, dict) and metadata.get("key") is not None


class Answering:
    """Whose answers these are, as they say themselves: the questions cannot be had."""

    def __init__(self, provider: str) -> None:
        self._vendor = vendor(provider)
        self._names: set[str] = set()

    def see(self, line: bytes) -> bytes:
        if name := answered_by(self._vendor, line):
            self._names.add(name.rsplit("/", 1)[-1])
        return line

    @property
    def model(self) -> Model:
        """Unknown where they say nothing, or several things: a batch may hold questions to several models."""
        name = next(iter(self._names)) if len(self._names) == 1 else "unknown"
        return Model(provider=self._vendor.name, name=name)


def is_keyless(line: bytes) -> bool:
    """Whether a line is one of Google's answers, without a name."""
    try:
        answer = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    named = isinstance(answer, dict) and (answer.get("key") or answer.get("custom_id") or _inner_key(answer))
    return isinstance(answer, dict) and not named and ("response" in answer or "error" in answer)


def _refuse_other_formats(path: Path) -> None:
    with path.open("rb") as handle:
        start = handle.read(_LOOKED_AT)
    if start.startswith(_GZIP):
        raise StudyError(f"--output-file {path}: the file is compressed; unpack it first: gunzip {path.name}")
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise StudyError(f"--output-file {path}: this is a web page, not a batch's output; download it again")


def _unreadable(path: Path, number: int, line: bytes, provider: str, found: Line) -> str:
    if answers_in_order(vendor(provider)) and is_keyless(line):
        return no_keys_text(f"--output-file {path}:{number}")
    problem = found.problem or "not a batch result"
    return f"--output-file {path}:{number}: {problem}; download the file again, or take the line out"


def _refuse_other_vendors(path: Path, provider: str) -> None:
    """This provider's reader makes nothing of any row; if another's does, the wrong one was named."""
    others = {name: one for name, one in vendors().items() if name != provider and takes_batches(one)}
    fitting = [name for name, one in others.items() if _can_be_read(path, one.format.decode)]
    if not fitting:
        return
    # Many write what OpenAI writes: then it is the likeliest.
    name = _LIKELIEST if _LIKELIEST in fitting else fitting[0]
    same = [other for other in fitting if other != name]
    also = f" ({', '.join(same)} write the same form)" if same else ""
    raise StudyError(
        f"--output-file {path}: no line is a {provider} batch result; they look like {name}'s: "
        f"overnight adopt {name} --output-file {path.name}{also}"
    )


def _can_be_read(path: Path, decode: Callable[[bytes], Line]) -> bool:
    read = (decode(line).result for _, (_, line) in zip(range(_ENOUGH_LINES), lines_of(path), strict=False))
    return any(one is not None and one.cause != "unreadable" for one in read)
