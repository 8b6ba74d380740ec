"""The table of results: what each row says while others are still open, however rows are read together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from ledger.stores import STORES, Run, open_new
from overnight.core.ask import Arm, Model, Options
from overnight.core.errors import FileDamaged
from overnight.core.money import Purse
from overnight.core.pack import Room
from overnight.core.result import Result, failed
from overnight.core.shard import token_of
from overnight.core.template import Template
from overnight.ledger.landed import Landed, Places
from overnight.ledger.open_shard import ArmPacking
from overnight.ledger.raw import digest_of
from overnight.providers.openai_api.rows import decode
from overnight.tables import results
from overnight.tables.results import ResultsTable
from overnight.tasks.generate import Generate, turn_templates

GRADED = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
LOST = failed("expired")
# What came, by arm and item: an answer's text, or a failure. Nothing for what is still open.
Came = Mapping[tuple[str, str], str | Result]


@pytest.fixture(params=sorted(STORES))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    with open_new(request.param, tmp_path / "run") as (ledger, folder):
        yield Run(ledger, folder)


def arm(name: str, **options: Any) -> Arm:
    model = Model(provider="openai", name=f"model of {name}", options=Options(**options))
    return Arm(stage="s", name=name, template=f"template of {name}", model=model)


def table(run: Run, arms: tuple[Arm, ...], *turns: str) -> ResultsTable:
    task = Generate(arms, templates={one.template: Template("{n}") for one in arms}, turns=turn_templates(turns))
    return ResultsTable(run.ledger.view(), run.folder.files, {"s": task}, {"openai": decode})


def written(run: Run, arms: tuple[Arm, ...], *turns: str) -> pl.DataFrame:
    table(run, arms, *turns).write(run.folder.path / "results.parquet")
    return pl.read_parquet(run.folder.path / "results.parquet")


def send(run: Run, arms: tuple[Arm, ...], came: Came) -> None:
    """All that waits goes out, a batch for each arm; and what has come of it so far."""
    how = ArmPacking(stage="s", room=Room(requests=99, bytes=9_999), overhead=0)
    packing = dict.fromkeys(range(1, 1 + len(arms)), how)
    known = {attempt.shard for attempt in run.verbs.attempts.everything()}
    run.verbs.shards.pack(packing, 1.0, packing.keys(), Purse(None, {}))
    for shard in run.verbs.shards.waiting(known):
        name = arms[shard.arm - 1].name
        token = token_of("run", "s", name, shard.id, 1)
        attempt = run.verbs.attempts.intend(shard, 1, token, 1, estimate=1, sha256="", at=1.0)
        line_of = run.verbs.shards.foreign_lines(shard.id)
        told = {line_of[item]: said for (whose, item), said in came.items() if whose == name and item in line_of}
        landed = _landed(run, f"raw/{token}-output.jsonl", told)
        run.verbs.answers.take_in(attempt.id, run.verbs.shards.rows(shard.id), landed, 1.0)


def _landed(run: Run, name: str, told: Mapping[int, str | Result]) -> Landed:
    """Answers stand in a file; failures are in none."""
    content = {line: _raw(said) for line, said in told.items() if isinstance(said, str)}
    with run.folder.files.put(name) as file:
        file.write(b"".join(content.values()))
    number, begin, places = run.verbs.files.keep(name, file.size, file.sha256), 0, Places.nowhere(0)
    for line in told:
        if raw := content.get(line):
            places.add(number, begin, len(raw), digest_of(raw))
            begin += len(raw)
        else:
            places.add_nowhere()
    found = [decode(content[line]).result if line in content else said for line, said in told.items()]
    return Landed.of([*told], [one for one in found if isinstance(one, Result)], places)


def _raw(text: str) -> bytes:
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return msgspec.json.encode({"custom_id": "any", "response": {"status_code": 200, "body": body}}) + b"\n"


def test_an_open_row_says_nothing_of_what_its_arm_knows(run: Run) -> None:
    """Whether something is read of the arm's answers, or all of the task's columns are known from the arm."""
    arms = (arm("graded", json_schema=GRADED, thinking="off"), arm("plain", thinking=512))
    run.ask("a", "b", "c", "d", arms=arms)
    send(run, arms, {("graded", "a"): '{"grade":4}', ("graded", "b"): "no", ("graded", "c"): LOST, ("plain", "b"): "x",
                     ("plain", "d"): LOST})  # fmt: skip
    found = written(run, arms).select("arm", "item_id", "status", "template", "thinking", "parsed", "answer_grade")
    graded, plain = ("template of graded", "off"), ("template of plain", "512")
    assert found.rows() == [
        ("graded", "a", "answered", *graded, True, 4),
        ("graded", "b", "answered", *graded, False, None),
        ("graded", "c", "failed", *graded, None, None),
        ("graded", "d", "pending", None, None, None, None),
        ("plain", "a", "pending", None, None, None, None),
        ("plain", "b", "answered", *plain, None, None),
        ("plain", "c", "pending", None, None, None, None),
        ("plain", "d", "failed", *plain, None, None),
    ]


def test_answers_stay_with_their_rows_where_others_are_open_or_in_no_file(run: Run) -> None:
    arms = (arm("one"),)
    items = [f"{number:02d}" for number in range(40)]
    run.ask(*items, arms=arms)
    came = {("one", item): LOST if number % 3 == 1 else f"of {item}" for number, item in enumerate(items) if number % 3}
    send(run, arms, came)
    found = written(run, arms)
    expected = [f"of {item}" if number % 3 == 2 else None for number, item in enumerate(items)]
    assert found["item_id"].to_list() == items
    assert found["answer"].to_list() == expected


def test_turns_are_read_with_their_conversation_and_open_ones_say_nothing(run: Run) -> None:
    arms = (arm("one", json_schema=GRADED), arm("two"))
    run.ask("a", "b", arms=arms)
    send(run, arms, {(name, item): '{"grade":1}' for name in ("one", "two") for item in ("a", "b")})
    run.ask("a", "b", turn=1, arms=arms)
    send(run, arms, {("one", "a"): "{}", ("two", "b"): "x"})
    found = written(run, arms, "go on").select("arm", "item_id", "turn", "template", "parsed", "answer_grade")
    one, two = "template of one", "template of two"
    assert found.rows() == [
        ("one", "a", 0, one, True, 1),
        ("one", "a", 1, one, False, None),
        ("one", "b", 0, one, True, 1),
        ("one", "b", 1, None, None, None),
        ("two", "a", 0, two, None, None),
        ("two", "a", 1, None, None, None),
        ("two", "b", 0, two, None, None),
        ("two", "b", 1, two, None, None),
    ]


def test_small_arms_that_are_written_together_are_the_rows_of_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    arms = tuple(arm(f"{number:02d}", **({"json_schema": GRADED} if number % 3 else {})) for number in range(9))
    items = "abcdefg"
    run.ask(*items, arms=arms)
    came = {(one.name, item): f'{{"grade":{place}}}' for one in arms for place, item in enumerate(items) if item != "c"}
    send(run, arms, came)
    found = written(run, arms)
    content = (run.folder.path / "results.parquet").read_bytes()
    for at_once in (1, 3, 7, 10):
        monkeypatch.setattr(results, "CHUNK", at_once)
        assert written(run, arms).equals(found)
        assert (run.folder.path / "results.parquet").read_bytes() == content
    assert found.select("arm", "item_id").rows() == [(one.name, item) for one in arms for item in items]
    graded = [place if number % 3 and item != "c" else None for number in range(9) for place, item in enumerate(items)]
    assert found["answer_grade"].to_list() == graded
    for item in items:
        assert table(run, arms).of_item(item).equals(found.filter(item_id=item))
    assert table(run, arms).of_item("nobody").equals(found.clear())


def test_a_line_in_a_file_that_is_not_on_record_is_told_and_not_taken_for_another(run: Run) -> None:
    """A ledger may be a stranger's."""
    arms = (arm("one"),)
    run.ask("a", "b", "c", "still open", arms=arms)
    send(run, arms, {("one", "a"): "of a", ("one", "c"): "of c"})
    raw = _raw("of b")
    where = Places.nowhere(0)
    where.add(0, 0, len(raw), digest_of(raw))
    told = decode(raw).result
    assert told is not None
    (attempt,) = run.verbs.attempts.everything()
    run.verbs.answers.take_in(attempt.id, run.verbs.shards.rows(attempt.shard), Landed.of([1], [told], where), 1.0)
    with pytest.raises(FileDamaged, match="file 0, which is not on record"):
        written(run, arms)
