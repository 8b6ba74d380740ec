"""Lines of input files are put together from a frame; the provider's own word for a line is `line`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Model
from overnight.core.shard import custom_id, token_of
from overnight.engine.batch.outbox import InputHash, frame_of, is_on_record
from overnight.ledger.raw import digest_of
from overnight.providers import BatchFormat, batch_format, takes_batches, vendor, vendors
from overnight.store.contract import Store
from overnight.store.run_folder import RunFolder

TAKING = sorted(name for name, one in vendors().items() if takes_batches(one))
TOKEN = token_of("run", "stage", "arm", 1, 1)


def _format(name: str) -> BatchFormat:
    return batch_format(vendor(name))


@pytest.mark.parametrize("name", TAKING)
@given(rows=st.lists(st.tuples(st.integers(0, 999_999_999), st.binary()), min_size=1, max_size=5))
def test_framed_lines_are_the_providers_own(name: str, rows: list[tuple[int, bytes]]) -> None:
    provider, model = _format(name), Model(provider=name, name="any-model")
    framed = frame_of(provider, model, TOKEN).lines([number for number, _ in rows], [body for _, body in rows])
    assert framed == b"".join(provider.line(model, custom_id(TOKEN, number), body) + b"\n" for number, body in rows)


class _BodyFirst(type(_format("openai"))):  # type: ignore[misc] - any provider will do
    def line(self, _: Model, name: str, body: bytes) -> bytes:
        return body + name.encode()


def test_lines_that_cannot_be_framed_are_a_fault_of_the_provider() -> None:
    with pytest.raises(AssertionError, match="openai: lines of a model differ"):
        frame_of(_BodyFirst(), Model(provider="openai", name="m"), TOKEN)


BODIES = [b'{"n":%d,"text":"%s"}' % (number, b"x" * (number % 7)) for number in range(120)]


def written(folder: Path, bodies: list[bytes]) -> tuple[Store, str, str]:
    """A store, the name of an input file in it, and its hash as it goes on record."""
    files = RunFolder(folder).files
    files.prepare()
    frame = frame_of(_format("openai"), Model(provider="openai", name="m"), TOKEN)
    with files.put("outbox/it.jsonl") as file:
        file.write(frame.lines(range(len(bodies)), bodies))
    whole = InputHash(frame)
    whole.add(map(digest_of, bodies))
    return files, file.name, whole.text


@pytest.mark.parametrize("count", [1, 2, 11, 120])
def test_an_input_file_is_known_again_by_its_hash(tmp_path: Path, count: int) -> None:
    files, name, known = written(tmp_path, BODIES[:count])
    assert is_on_record(files, name, known)


@given(
    at=st.integers(0, 10_000), byte=st.binary(min_size=1, max_size=1), kind=st.sampled_from(["change", "add", "cut"])
)
def test_no_other_bytes_are_taken_for_it(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: bytes, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("input")
    files, name, known = written(folder, BODIES[:30])
    file = folder / name
    whole = file.read_bytes()
    at %= len(whole)
    end = {"change": at + 1, "add": at, "cut": at + 1}[kind]
    other = whole[:at] + (b"" if kind == "cut" else byte) + whole[end:]
    file.write_bytes(other)
    assert is_on_record(files, name, known) == (other == whole)


@pytest.mark.parametrize("known", ["", "input:", "input:1,2:00", "input:999999,999999,999999:" + "0" * 64, "0" * 64])
def test_a_hash_that_is_none_fits_no_file(tmp_path: Path, known: str) -> None:
    files, name, _ = written(tmp_path, BODIES[:3])
    assert not is_on_record(files, name, known)
