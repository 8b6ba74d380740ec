"""After a soaked run: is every row there once, with its own answer, paid once, and every byte as it should be?"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import soak_rounds
from soak_schedule import Schedule
from soak_study import USAGE, paid

from overnight.core.money import DOLLAR
from overnight.core.result import PASSING
from overnight.core.shard import custom_id
from overnight.engine.decisions import TRIES

# Run and paid for, though the answer cannot be read: never bought again unless the user says so.
_SPOILED = "unreadable"
_CLIENT_ERROR = "batch_client_error"
# What the emulator's models say when they refuse.
_SORRY = "I'm sorry, but I can't help with that."
# Its arm and its key.
_Question = tuple[int, bytes]
_TOKEN = re.compile(r"[a-z2-7]{20}(?![a-z2-7])")


def problems(run: Path, reference: Path, plan: Schedule, log: dict[str, Any]) -> list[str]:
    """Everything that is wrong with a finished run, in sentences. Empty when the promises were kept."""
    import polars as pl

    table = pl.read_parquet(run / "tables" / "results.parquet")
    wanted = pl.read_parquet(reference / "tables" / "results.parquet")
    with sqlite3.connect(run / "ledger.db") as db:
        if plan.in_rounds:
            told = soak_rounds.problems(run, reference, hides_usage=_hides_usage(plan), reasked=bool(log["reasked"]))
        else:
            told = _as_undisturbed(run, reference, plan, table, wanted)
        return [
            *told,
            *_failures(db),
            *(_called_once(db, log) if plan.study.get("mode") == "live" else _paid_once([db], log)),
            *_batches(db, log),
            *_ledger(db, run),
            *_money(db, run, log),
            *_bill(db, plan, log),
            *_secrets(run, log),
        ]


def problems_so_far(run: Path, plan: Schedule, log: dict[str, Any]) -> list[str]:
    """What is wrong with a run that came to no end: what was paid twice, by all its ledgers, and what is nowhere."""
    ledgers = [sqlite3.connect(path) for path in sorted(run.parents[1].rglob("ledger.db")) if _is_ledger(path)]
    live = plan.study.get("mode") == "live"
    told = [] if live else list(_paid_once(ledgers, log))
    if _is_ledger(run / "ledger.db"):
        with sqlite3.connect(run / "ledger.db") as db:
            lost = {ask: at for ask, at in _places(db).items() if len(at) != 1}
        told += [f"question {ask} is {' and '.join(at) or 'nowhere'}" for ask, at in lost.items()]
    return told


def _is_ledger(path: Path) -> bool:
    """Whether it can be read: some were emptied, or cut in half."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            db.execute("SELECT 1 FROM ask, attempt, presumption LIMIT 1")
            return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
    except sqlite3.Error:
        return False


def _as_undisturbed(run: Path, reference: Path, plan: Schedule, table: Any, wanted: Any) -> Iterator[str]:
    yield from _rows(table, wanted, plan)
    yield from _joins(table, plan)
    if not _hides_usage(plan):
        yield from _bytes(run, reference, table)


def _hides_usage(plan: Schedule) -> bool:
    """Whether answers may come without what they cost: their rows then differ in that, and in nothing else."""
    return any(fault["do"] in ("no_usage", "odd_usage") for fault in plan.faults)


def _rows(table: Any, wanted: Any, plan: Schedule) -> Iterator[str]:
    """Nothing follows from a row that failed for good: then, and only then, there may be fewer rows."""
    follows = "stages" in plan.study or "turns" in plan.study
    address = ["stage", "arm", "item_id", "replicate", "turn"]
    failed = table.filter(table["status"] == "failed").height
    fewer_may_be = follows and failed > 0
    if table.height != wanted.height and not fewer_may_be:
        yield f"{table.height} rows, wanted {wanted.height}"
    if table.select(address).is_duplicated().any():
        yield "an address is there twice"
    lost = wanted.join(table, on=address, how="anti").height
    if lost and not fewer_may_be:
        yield f"{lost} addresses are lost"
    open_rows = table.filter(table["status"] == "pending").height
    if open_rows:
        yield f"{open_rows} rows are pending after the end"
    free = ("status", "cause", *(USAGE if _hides_usage(plan) else ()))
    common = [name for name in wanted.columns if name not in free]
    settled = table.filter(table["status"] != "failed")
    same = settled.join(wanted, on=[*common, "status", "cause"], how="semi", nulls_equal=True).height
    if same != settled.height:
        yield f"{settled.height - same} settled rows differ from the undisturbed run's"


def _joins(table: Any, plan: Schedule) -> Iterator[str]:
    """The answer repeats its question's marker and names its model: a wrong join cannot look right."""
    texts = {item["id"]: item["text"].split()[-1] for item in plan.items}
    for row in table.filter(table["status"] == "answered").iter_rows(named=True):
        # A row that was handed on is called by its item and the arm it came from.
        marker = texts[row["item_id"].partition("@")[0]]
        if row["provider"] == "bedrock" and row["answer"].startswith(_SORRY):
            continue  # Converse has no word for a model's own refusal: it is an answer like any other
        if marker not in row["answer"] or f"[trace {row['model']} " not in row["answer"]:
            yield f"{row['item_id']} in {row['arm']} has another question's answer: {row['answer']!r}"


def _bytes(run: Path, reference: Path, table: Any) -> Iterator[str]:
    if table.filter(table["status"] == "failed").height == 0:
        ours, theirs = (_digest(folder / "tables" / "results.parquet") for folder in (run, reference))
        if ours != theirs:
            yield "results.parquet has other bytes than the undisturbed run's"


def _failures(db: sqlite3.Connection) -> Iterator[str]:
    """A row fails for good only after all its tries, for causes that might have passed, or if it was run in vain."""
    rows = db.execute(
        "SELECT settled.ask, result.cause, (SELECT count(*) FROM result AS r WHERE r.ask=settled.ask "
        "AND r.outcome='failed'), shard.live, result.detail FROM settled JOIN result ON result.attempt=settled.attempt "
        "AND result.line=settled.line JOIN attempt ON attempt.id=result.attempt "
        "JOIN shard ON shard.id=attempt.shard WHERE result.outcome='failed'"
    )
    for ask, cause, tries, live, detail in rows:
        if cause in (_SPOILED, "gone") and not live:
            continue
        if (detail or "").startswith(_CLIENT_ERROR):
            continue  # Together's word for a request that is wrong and for one too many: nobody can tell them apart
        if cause not in PASSING or tries < TRIES:
            yield f"question {ask} failed for good ({cause}) after {tries} tries"


def _paid_once(ledgers: Sequence[sqlite3.Connection], log: dict[str, Any]) -> Iterator[str]:
    """No question runs again unless the provider made two batches of one create.

    Of several ledgers, an older one may know what the newest does not; each question goes by its arm and key there.
    """
    asks = {
        custom_id(token, line): (arm, key)
        for db in ledgers
        for token, line, arm, key in db.execute(
            "SELECT token, line, ask.arm, ask.key FROM attempt JOIN shard_row ON shard_row.shard=attempt.shard "
            "JOIN ask ON ask.id=shard_row.ask"
        )
    }
    again: Counter[_Question] = Counter()
    for db in ledgers:
        again |= _run_in_vain(db, reasked=bool(log.get("reasked")))
    again.update(ask for token in _doubled(log) for name, ask in asks.items() if name.startswith(f"o{token}-"))
    for twice in log["rows_run_twice"]:
        # The same words may be several questions: votes of their own.
        ran = {asks[name] for name in twice["custom_ids"] if name in asks}
        allowed = sum(1 + again[ask] for ask in ran)
        if twice["times"] > allowed:
            yield f"a question ran {twice['times']} times, {allowed} allowed: {twice['custom_ids']}"


def _run_in_vain(db: sqlite3.Connection, *, reasked: bool) -> Counter[_Question]:
    """How often each question was run, or may have been, and has to be asked again."""
    # Rows that were run and never shown are asked again when the user says so.
    lost = db.execute("SELECT ask.arm, ask.key, cause FROM result JOIN ask ON ask.id=result.ask") if reasked else ()
    again = Counter((arm, key) for arm, key, cause in lost if cause in ("gone", "missing", _SPOILED))
    # Of a batch that did not get to its end, at a provider without counts, nobody knows which rows were run: they are
    # presumed spent, and asked again.
    again.update(
        (arm, key)
        for arm, key in db.execute(
            "SELECT ask.arm, ask.key FROM result JOIN ask ON ask.id=result.ask JOIN presumption "
            "ON presumption.attempt=result.attempt AND presumption.line=result.line "
            "WHERE result.cause IN ('expired', 'cancelled')"
        )
    )
    return again


def _called_once(db: sqlite3.Connection, log: dict[str, Any]) -> Iterator[str]:
    """Every call that the provider ran is on record: as its answer, or as lost and presumed spent."""
    (tries,) = db.execute("SELECT count(*) FROM result").fetchone()
    if log["rows_run"] > tries:
        yield f"{log['rows_run']} calls ran, {tries} are on record"


def _doubled(log: dict[str, Any]) -> Iterator[str]:
    """Attempts of which the fault `twice` made a second batch."""
    seen: set[str] = set()
    for batch in log["batches"]:
        tag = _tag(batch)
        if tag is None:
            continue
        if tag in seen:
            yield tag
        seen.add(tag)


def _tag(batch: dict[str, Any]) -> str | None:
    """The attempt's token: in the name of the input, or in the first custom id where there is no file."""
    found = _TOKEN.search(batch["name"] or "")
    return found[0] if found else None


def _batches(db: sqlite3.Connection, log: dict[str, Any]) -> Iterator[str]:
    """Every batch that ran rows is one of ours, and no attempt has two unless the provider was told to double it."""
    known = {token for (token,) in db.execute("SELECT token FROM attempt")}
    tags = Counter(_tag(batch) for batch in log["batches"] if batch["executed"])
    for tag, count in tags.items():
        if tag not in known:
            yield f"a batch ran that no attempt announced: {tag}"
        elif count > 1 and not log["twice_fired"]:
            yield f"attempt {tag} has {count} batches that ran"


def _places(db: sqlite3.Connection) -> dict[int, list[str]]:
    """Where each question is."""
    places: dict[int, list[str]] = defaultdict(list)
    queries = {
        "settled": "SELECT ask FROM settled",
        "queued": "SELECT ask FROM queue",
        "under way": "SELECT ask FROM shard_row WHERE shard NOT IN (SELECT shard FROM shard_done)",
    }
    for place, query in queries.items():
        for (ask,) in db.execute(query):
            places[ask].append(place)
    return {ask: places[ask] for (ask,) in db.execute("SELECT id FROM ask")}


def _ledger(db: sqlite3.Connection, run: Path) -> Iterator[str]:
    for ask, places in _places(db).items():
        if places != ["settled"]:
            yield f"question {ask} is {' and '.join(places) or 'nowhere'} after the end"
    if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        yield "the ledger's file is damaged"
    leftovers = sorted(path.name for part in ("outbox", "raw", "tables") for path in (run / part).glob("*.part"))
    leftovers += sorted(path.name for path in (run / "outbox").glob("*"))
    if leftovers:
        yield f"left behind: {', '.join(leftovers)}"


def _money(db: sqlite3.Connection, run: Path, log: dict[str, Any]) -> Iterator[str]:
    """The bill is the sum of its rows, nothing is set aside any more, and all of it is within the budget."""
    (settled, presumed) = db.execute(
        "SELECT coalesce(sum(settled), 0), coalesce(sum(presumed), 0) FROM spent"
    ).fetchone()
    (by_hand,) = db.execute("SELECT coalesce(sum(cost), 0) FROM result").fetchone()
    if settled != by_hand:
        yield f"the bill is {settled}, its rows come to {by_hand}"
    (reserved,) = db.execute("SELECT coalesce(sum(coalesce(amount, 0) - released), 0) FROM reservation").fetchone()
    if reserved:
        yield f"{reserved} are still set aside"
    budget = json.loads((run.parents[1] / "study.yaml").read_text()).get("budget")
    # A provider that runs a create twice keeps to nobody's budget.
    if budget is not None and not log["twice_fired"] and settled + presumed > round(budget["total"] * DOLLAR):
        yield f"{settled + presumed} were spent of a budget of {budget['total']}"


def _bill(db: sqlite3.Connection, plan: Schedule, log: dict[str, Any]) -> Iterator[str]:
    """What the provider charged is on record: settled or presumed, and the same where nothing is presumed."""
    if log["twice_fired"] and plan.untagged:
        return  # nobody can tell a second batch of one create from a stranger's
    (settled, presumed) = db.execute(
        "SELECT coalesce(sum(settled), 0), coalesce(sum(presumed), 0) FROM spent"
    ).fetchone()
    yield from _compared(paid(log), settled, presumed)


def kept_bill(runs: Sequence[Path], log: dict[str, Any]) -> Iterator[str]:
    """The same for runs of batches that somebody else has sent, by the prices that were kept with them."""
    from overnight.api.costs import costs_of
    from overnight.core.result import Usage
    from overnight.ledger.ledger import look_at
    from overnight.prices import Price
    from overnight.prices.charges import cost
    from overnight.store.run_folder import RunFolder

    bills, prices = [], set()
    for run in runs:
        bills += costs_of(RunFolder(run)).select("settled", "presumed").rows()
        with look_at(RunFolder(run)) as view:
            kept = view.spending.prices()
            found = (msgspec.json.decode(price, type=Price) for (_, at), price in kept.items() if at == "batch")
            # An answer may name the model more exactly than the batch did; what it costs is the same.
            prices.update(msgspec.json.encode(msgspec.structs.replace(price, model="")) for price in found)
    if not bills or any(presumed is None for _, presumed in bills):
        return  # rows were run without a bill, and nothing bounds them: that is unknown, and said to be
    settled, presumed = (round(sum(bill[place] for bill in bills) * DOLLAR) for place in (0, 1))
    (price,) = prices
    used = log["billed"]["batch"].values()
    charged = cost(
        msgspec.json.decode(price, type=Price),
        Usage(
            input=sum(one["input_tokens"] for one in used),
            cached=sum(one["cached_tokens"] for one in used),
            output=sum(one["output_tokens"] for one in used),
        ),
    )
    yield from _compared(charged or 0, settled, presumed)


def _compared(charged: int, settled: int, presumed: int) -> Iterator[str]:
    if charged > settled + presumed:
        yield f"{charged} were paid, {settled} are settled and {presumed} presumed"
    if not presumed and charged != settled:
        yield f"{charged} were paid, {settled} are settled and nothing is presumed"


def _secrets(run: Path, log: dict[str, Any]) -> Iterator[str]:
    """The key is in no file, whoever repeats it."""
    key = log["key"].encode()
    for path in sorted(run.rglob("*")):
        if path.is_file() and key in path.read_bytes():
            yield f"{path.relative_to(run)} holds the key"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
