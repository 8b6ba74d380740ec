"""Everything about one item: its fields, and in each arm what was asked, what was answered, and the bytes of both.

It is read from the ledger and the files through the readers that hold every byte against its record, so that it shows
a run under way as it is now, and never what somebody has put into a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overnight.api.on_record import stages_on_record
from overnight.api.tabling import decoders
from overnight.core.ask import Arm
from overnight.core.attempt import Attempt
from overnight.core.errors import FileDamaged, RowDamaged, UnknownName
from overnight.core.handed_on import row_id
from overnight.core.stage import Stage
from overnight.core.task import PartsOfItems
from overnight.ledger.ledger import look_at
from overnight.ledger.raw import Place, RawFiles
from overnight.ledger.rows import Exchange
from overnight.ledger.transaction import View
from overnight.serving.sent_messages import SentMessage, messages_in
from overnight.store.run_folder import RunFolder
from overnight.tables.results import COLUMNS, ResultsTable

# Columns of tasks that name two items which are shown beside each other.
SIDES = ("first_id", "second_id")
# Columns in which tasks say what they have read in an answer, the plainest first.
SAID = ("label", "winner_id", "verdict", "score")
# Of comparisons of its answers, so many are shown with an item.
MOST_TOGETHER = 60
# What an arm is made of stands in its name.
ARM_PARTS = ("template", "thinking", "direction")


@dataclass(frozen=True, kw_only=True)
class Bytes:
    """Bytes on record; `trouble` says why there are none to be trusted."""

    data: bytes = b""
    trouble: str | None = None

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


@dataclass(frozen=True, kw_only=True)
class TurnRecord:
    """One question and what came of it. `row` is its row of the table of results."""

    turn: int
    row: Mapping[str, Any]
    request: Bytes
    # None where no file holds an answer.
    line: Bytes | None
    detail: str | None
    received_at: float | None
    batch: Attempt | None

    @property
    def messages(self) -> list[SentMessage]:
        return messages_in(self.request.data)

    @property
    def own(self) -> dict[str, Any]:
        """What the task has read in the answer; what only repeats the question or the arm stays out."""
        told = {message.text for message in self.messages}
        return {
            name: value
            for name, value in self.row.items()
            if name not in COLUMNS and name not in ARM_PARTS and value is not None and value not in told
        }


@dataclass(frozen=True, kw_only=True)
class ThreadRecord:
    """What was asked of one arm about the item, turn by turn."""

    arm: Arm
    replicate: int
    turns: Sequence[TurnRecord]

    # What later stages say of what was answered here.
    later: Sequence["Later"] = ()

    @property
    def last(self) -> TurnRecord:
        return self.turns[-1]


@dataclass(frozen=True, kw_only=True)
class Later:
    """What a later stage has asked about an answer, or about several answers to one item: rows of that stage."""

    stage: str
    id: str
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class ItemRecord:
    id: str
    # The item whose answer, or whose answers, this one is about; and the arm that gave it, where it is one.
    origin: tuple[str, str | None] | None
    # What later stages say of several of its answers at once.
    together: Sequence[Later]
    # By stage and item: this one, and those that its rows compare.
    fields: Mapping[tuple[str, str], Mapping[str, Any]]
    threads: Sequence[ThreadRecord]
    before: str | None
    after: str | None
    troubles: Sequence[str]


def item_record(folder: RunFolder, item: str) -> ItemRecord:
    """UnknownName where nothing was asked about it."""
    with look_at(folder) as view, view.at_one_moment(), RawFiles(folder.files, view.files.paths()) as raw:
        exchanges = view.rows.exchanges(item)
        if not exchanges:
            raise UnknownName(f"run '{folder.name}' has asked nothing about an item {item!r}")
        stages = {stage.name: stage for stage in stages_on_record(view)}
        table = _table(view, folder, stages)
        rows, troubles = _rows(table, item)
        attempts = {attempt.id: attempt for attempt in view.attempts.everything()}
        arms = view.stages.arms()
        threads: dict[tuple[int, int], list[TurnRecord]] = {}
        for one, row in zip(exchanges, rows or [{}] * len(exchanges), strict=True):
            threads.setdefault((one.arm, one.replicate), []).append(_turn(one, row, raw, attempts))
        found = [
            ThreadRecord(
                arm=arms[arm], replicate=n, turns=turns, later=list(_later(table, row_id(item, arms[arm].name, n)))
            )
            for (arm, n), turns in threads.items()
        ]
        before, after = view.rows.neighbours(item)
        fields = dict(_fields(view, raw, stages, item, found))
        return ItemRecord(
            id=item,
            origin=_origin(view, stages, item, fields),
            together=list(_together(view, table, stages, item)),
            fields=fields,
            threads=found,
            before=before,
            after=after,
            troubles=troubles,
        )


def _table(view: View, folder: RunFolder, stages: Mapping[str, Stage]) -> ResultsTable:
    tasks = {stage.name: stage.task for stage in stages.values()}
    return ResultsTable(view, folder.files, tasks, decoders(list(view.stages.arms().values())))


def _rows(table: ResultsTable, item: str) -> tuple[list[dict[str, Any]], list[str]]:
    try:
        return table.of_item(item).to_dicts(), []
    except (FileDamaged, RowDamaged) as error:
        return [], [str(error)]


def _later(table: ResultsTable, name: str) -> Iterator[Later]:
    """Rows about one answer, stage by stage; `name` is what the answer is called as an item."""
    rows, _ = _rows(table, name)  # what is damaged is told on the page of its own
    for stage in dict.fromkeys(row["stage"] for row in rows):
        yield Later(stage=stage, id=name, rows=[row for row in rows if row["stage"] == stage])


def _together(view: View, table: ResultsTable, stages: Mapping[str, Stage], item: str) -> Iterator[Later]:
    for stage in stages.values():
        if isinstance(stage.task, PartsOfItems):
            for name in view.rows.names_from(stage.task.addresses_of(item), MOST_TOGETHER):
                yield from (one for one in _later(table, name) if one.stage == stage.name)


def _origin(
    view: View, stages: Mapping[str, Stage], item: str, fields: Mapping[tuple[str, str], Mapping[str, Any]]
) -> tuple[str, str | None] | None:
    """A stage that takes rows of another is told of them by their item and arm, or groups all rows of an item."""
    for (stage, _), told in fields.items():
        task = stages[stage].task
        if stages[stage].of is None:
            continue
        name = task.item_of(item) if isinstance(task, PartsOfItems) else told.get("item_id")
        if isinstance(name, str) and name != item and view.rows.of_item(name):
            arm = told.get("arm")
            return name, arm if isinstance(arm, str) else None
    return None


def _turn(one: Exchange, row: Mapping[str, Any], raw: RawFiles, attempts: Mapping[int, Attempt]) -> TurnRecord:
    return TurnRecord(
        turn=one.turn,
        row=row,
        request=_bytes(raw, one.request),
        line=None if one.answer is None else _bytes(raw, one.answer),
        detail=one.detail,
        received_at=one.received_at,
        batch=None if one.attempt is None else attempts.get(one.attempt),
    )


def _bytes(raw: RawFiles, place: Place) -> Bytes:
    try:
        return Bytes(data=raw.read(*place))
    except FileDamaged as error:
        return Bytes(trouble=str(error))


def _fields(
    view: View, raw: RawFiles, stages: Mapping[str, Stage], item: str, threads: Sequence[ThreadRecord]
) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """The fields of the item, and of those that its rows put beside each other."""
    wanted: dict[tuple[str, str], None] = {}
    for thread in threads:
        stage = stages[thread.arm.stage]
        about = stage.task.item_of(item) if isinstance(stage.task, PartsOfItems) else item
        sides = [thread.last.row.get(name) for name in SIDES]
        wanted.update({(stage.name, str(name)): None for name in (about, *sides) if name})
    for stage_name, name in wanted:
        try:
            found = view.items.fields(raw.read, stages[stage_name].id, name)
        except FileDamaged as error:
            found = {"(damaged)": str(error)}
        if found:
            yield (stage_name, name), found
