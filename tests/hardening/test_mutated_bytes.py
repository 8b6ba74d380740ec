"""Real bytes, damaged at random: readers refuse in words or read on, and no answer lands on another's row."""

from __future__ import annotations

import contextlib
import json
import string
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from overnight.core.errors import StudyError
from overnight.core.result import Line
from overnight.core.shard import custom_id, line_of, token_of
from overnight.providers.anthropic import rows as _anthropic_rows
from overnight.providers.google_api import rows as _google_rows
from overnight.providers.openai_api import rows as _openai_rows
from overnight.study import Study, resolve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz"))

from row_lines import ANTHROPIC_LINES, GOOGLE_LINES, LINES

TOKEN = token_of("run", "stage", "arm", 1, 1)
STUDY = (
    b"name: fruit\ntask: generate\nitems: items.csv\nprompt: 'About {text}'\nmodels: [openai/gpt-4.1]\nreplicates: 2\n"
)
CSV = b'id,text\n1,apples\n2,"pe""ars, two"\n3,"pl\nums"\n'
JSONL = b'{"id": "1", "text": "apples \\u00e9"}\n{"id": "2", "text": "pears"}\n'


@st.composite
def mutated(draw: st.DrawFn, originals: tuple[bytes, ...]) -> bytes:
    """An original with pieces cut out, doubled, overwritten, swapped, or put in from elsewhere."""
    data = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        width = draw(st.integers(0, 12))
        piece = bytes(data[at : at + width])
        other = draw(st.sampled_from(originals))
        start = draw(st.integers(0, len(other)))
        new = draw(
            st.one_of(
                st.just(b""),
                st.just(piece + piece),
                st.just(other[start : start + width]),
                st.binary(max_size=6),
                st.sampled_from(
                    [b'"', b"{", b"}", b"[", b"]", b":", b",", b"null", b"-1", b"1e999", b"\\ud800", b"\n"]
                ),
            )
        )
        data[at : at + width] = new
    return bytes(data)


@settings(max_examples=600, deadline=None)
@given(mutated(LINES))
@example(b'{"custom_id":"x","response":{"status_code":1e999,"body":{}}}')
@example(b'{"custom_id":"x","response":{"status_code":200,"body":{"choices":0,"usage":{"prompt_\xf5":1}}}}')
def test_the_row_decoder_is_total(data: bytes) -> None:
    assert_total(_openai_rows.decode(data))


@settings(max_examples=600, deadline=None)
@given(mutated(ANTHROPIC_LINES))
@example(b'{"custom_id":"x","result":{"type":"succeeded","message":{"content":0,"usage":{"input_\xf5":1}}}}')
def test_the_row_decoder_of_anthropic_is_total(data: bytes) -> None:
    assert_total(_anthropic_rows.decode(data))


@settings(max_examples=600, deadline=None)
@given(mutated(GOOGLE_LINES))
@example(b'{"key":"x","response":{"candidates":0,"usageMetadata":{"prompt\xf5":1}}}')
@example(b'{"key":"x","error":{"error":{"error":{}}},"status":1e999}')
def test_the_row_decoder_of_google_is_total(data: bytes) -> None:
    assert_total(_google_rows.decode(data))


def assert_total(line: Line) -> None:
    assert isinstance(line, Line)
    # A line may name its row and say nothing of it; what it says is about a row.
    assert line.result is None or line.custom_id is not None
    assert (line.problem is None) == (line.result is not None)
    if line.result is not None:
        assert line.result.outcome in ("answered", "refused", "truncated", "failed")
        assert line.result.outcome != "failed" or line.result.cause is not None
        for text in (line.result.answer, line.result.thoughts, line.result.detail):
            assert text is None or text.encode() is not None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.from_regex(r"o[a-z2-7]{20}-[0-9]{1,12}", fullmatch=True), st.integers(0, 10**9 - 1))
def test_a_custom_id_names_its_own_row_or_none(text: str, row: int) -> None:
    assert line_of(TOKEN, custom_id(TOKEN, row)) == row
    found = line_of(TOKEN, text)
    assert found is None or custom_id(TOKEN, found) == text
    assert line_of(token_of("run", "stage", "arm", 1, 2), custom_id(TOKEN, row)) is None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 99_999), st.integers(0, 40), st.sampled_from(string.printable))
def test_a_damaged_custom_id_joins_nothing_or_is_undamaged(row: int, place: int, character: str) -> None:
    name = custom_id(TOKEN, row)
    damaged = name[:place] + character + name[place + 1 :]
    if line_of(TOKEN, damaged) is not None and damaged != name:
        assert damaged.removeprefix(f"o{TOKEN}-").isdecimal()


def read_study(folder: Path, study: bytes, items: bytes, name: str) -> None:
    (folder / "study.yaml").write_bytes(study)
    (folder / name).write_bytes(items)
    resolved = resolve(Study.load(folder / "study.yaml"))
    for stage in resolved.stages:
        ids = [item.id for item in stage.items()]
        assert len(ids) == len(set(ids))
        for ask in stage.task.start(stage.items(), stage.seed):
            json.dumps([message.content for message in ask.messages]).encode()


relaxed = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@relaxed
@given(study=mutated((STUDY,)))
def test_mutated_studies_are_read_or_refused(tmp_path: Path, study: bytes) -> None:
    with contextlib.suppress(StudyError):
        read_study(tmp_path, study, CSV, "items.csv")


@pytest.mark.parametrize(("name", "whole"), [("items.csv", CSV), ("items.jsonl", JSONL), ("items.tsv", CSV)])
@relaxed
@given(data=st.data())
def test_mutated_items_are_read_or_refused(tmp_path: Path, name: str, whole: bytes, data: st.DataObject) -> None:
    items = data.draw(mutated((whole,)))
    study = STUDY.replace(b"items.csv", name.encode())
    with contextlib.suppress(StudyError):
        read_study(tmp_path, study, items, name)
