"""Accounts: the limits that refusals have taught, what waits in each queue, and creates that nobody is sure of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from overnight.core.errors import OvernightError
from overnight.core.wording import number_of
from overnight.ledger.account_book import KnownAccount
from overnight.ledger.identity import Account
from overnight.ledger.ledger import look_at
from overnight.reporting.page.html import part_html
from overnight.reporting.parts import Table
from overnight.reporting.shown_text import escaped
from overnight.serving.known_runs import KnownRun
from overnight.serving.screens.layout import Screen, link, live_part, sentences_html

_NAMES = ("provider", "address", "organisation", "project")


@dataclass
class Queue:
    """What all runs together have at one model of one account."""

    tokens: int = 0
    batches: int = 0
    # (run, shard) of creates of which nobody knows whether they made a batch.
    doubtful: list[tuple[str, int]] = field(default_factory=list)


# An account, as the book calls it, a model, and which of several alike it is: keys are on record nowhere else.
Place = tuple[str, str, str]


def queues_of(runs: Iterable[KnownRun]) -> dict[Place, Queue]:
    """By account and model. A run that cannot be read is told of where the runs are."""
    found: dict[Place, Queue] = {}
    for run in runs:
        if run.status.trouble is not None:
            continue
        try:
            with look_at(run.folder) as view:
                accounts, arms = view.accounts.everything(), view.stages.arms()
                attempts = view.attempts.everything()
                roots = {number: view.accounts.root(number) for number in accounts}
        except OvernightError:
            continue
        names = {number: _name(account) for number, account in accounts.items()}
        for attempt in attempts:
            account = accounts.get(attempt.account)
            if account is None:
                continue
            name, own = names[attempt.account], roots[attempt.account]
            alike = sorted({roots[number] for number, other in names.items() if other == name})
            which = f"account {alike.index(own) + 1} of {run.name}" if len(alike) > 1 else ""
            queue = found.setdefault((name, arms[attempt.arm].model.name, which), Queue())
            if attempt.holds_queue_room:
                queue.tokens += attempt.estimate
                queue.batches += 1
            if attempt.in_doubt:
                queue.doubtful.append((run.name, attempt.shard))
    return found


def _name(account: Account) -> str:
    return f"{account.provider}|{account.place}|{account.organization}|{account.project}"


def accounts_screen(book: Sequence[KnownAccount], queues: dict[Place, Queue], trouble: str | None) -> Screen:
    learned = {(one.account, one.model): one for one in book}
    accounts = sorted({place[0] for place in (*learned, *queues)})
    if not accounts:
        body = sentences_html(filter(None, [trouble, "Nothing was sent from here yet, and nothing was learned."]))
        return Screen(title="Accounts", body=live_part("accounts", body), live=True)
    body = sentences_html(filter(None, [trouble]), kind="finding")
    body += "".join(_account_html(account, learned, queues) for account in accounts)
    return Screen(title="Accounts", body=live_part("accounts", body), live=True)


def _account_html(account: str, learned: dict[tuple[str, str], KnownAccount], queues: dict[Place, Queue]) -> str:
    parts = dict(zip(_NAMES, account.split("|"), strict=False))
    title = parts.pop("provider")
    where = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
    own = {(model, which) for one, model, which in queues if one == account}
    own |= {(model, "") for one, model in learned if one == account and model not in {name for name, _ in own}}
    rows = [
        _row(
            learned.get((account, model)),
            queues.get((account, model, which), Queue()),
            f"{model}, {which}".rstrip(", "),
        )
        for model, which in sorted(own)
    ]
    table = Table(columns={name: [row[name] for row in rows] for name in rows[0]}, title=title)
    doubts = [
        f"<p>{link(run, 'run', run)}: shard {shard} was handed over, and the answer was lost; it is looked for.</p>"
        for model, which in sorted(own)
        for run, shard in queues.get((account, model, which), Queue()).doubtful
    ]
    heading = f"<h2>{escaped(title)}</h2><p class=note>{escaped(where)}</p>"
    return f"<section>{heading}{part_html(table)}{''.join(doubts)}</section>"


def _row(known: KnownAccount | None, queue: Queue, model: str) -> dict[str, object]:
    limit = None if known is None else known.queue_limit
    measured = known is not None and known.bytes > 0
    return {
        "model": model,
        "limit of its queue": "not met yet" if limit is None else f"{limit:,} tokens",
        "waiting there": f"{queue.tokens:,} tokens in {number_of(queue.batches, 'batch', 'batches')}",
        "room": "" if limit is None else f"{max(0, limit - queue.tokens):,} tokens",
        "bytes a token": f"{known.bytes / known.tokens:.2f}" if measured and known and known.tokens else "",
        "creates in doubt": len(queue.doubtful),
    }
