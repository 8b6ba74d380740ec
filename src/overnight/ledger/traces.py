"""What a run's folder shows beside its ledger: enough to notice a ledger that is lost, or older than the folder.

`sent` has one line for each attempt whose create or first call was about to go out: its token, and what it was. A line
is written after the ledger has the same on record and before anything is sent. So a token that the ledger does not know
as sent was sent after the ledger was last written: somebody has put back an old one, or lost its newest part.
"""

import re
from typing import Literal, NamedTuple, cast

from overnight.core.errors import LedgerLost
from overnight.core.shard import TOKEN_LENGTH, is_of_run
from overnight.ledger.attempts import AttemptsView
from overnight.ledger.homes import home_of
from overnight.ledger.identity import FactsView
from overnight.store.contract import Store
from overnight.store.names import FILES, HALF, SENT, TABLES
from overnight.store.run_folder import RunFolder

# A batch that its provider lists with our token, one that it lists without, and calls that nobody lists.
Sent = Literal["batch", "untagged", "live"]
_LINE = re.compile(rf"([a-z2-7]{{{TOKEN_LENGTH}}}) (batch|untagged|live)")
_SHOWN = 3


class Older(NamedTuple):
    """What a folder shows of a ledger that is older than it: in words, and the attempts that were sent since."""

    text: str
    sent_since: frozenset[str]


def mark_sent(marks: Store, token: str, what: Sent) -> None:
    """Durable when this returns. A torn line, which a power cut may leave, was sent by nobody."""
    log = marks.append(SENT)
    try:
        log.add(f"\n{token} {what}\n".encode())
    finally:
        log.close()


def sent_attempts(marks: Store) -> dict[str, Sent]:
    """By token, in the order in which they were sent."""
    if not marks.exists(SENT):
        return {}
    with marks.stream(SENT) as log:
        lines = log.read().decode(errors="replace").splitlines()
    return {match[1]: cast("Sent", match[2]) for match in map(_LINE.fullmatch, lines) if match}


def traces(folder: RunFolder) -> list[str]:
    """What is only there when a ledger has been there before it."""
    found = {part: folder.files.names(part) for part in FILES} | {TABLES: folder.table_names()}
    parts = [f"{part}/" for part, names in found.items() if not all(name.endswith(HALF) for name in names)]
    return [*parts, SENT] if sent_attempts(folder.marks) else parts


def no_ledger(folder: RunFolder) -> bool:
    """Whether there is none, and never was; LedgerLost when the folder shows one, RunMoved when it left."""
    missing = home_of(folder).missing()
    folder.refuse_moved()
    if missing is not None:
        _refuse(folder, missing, traces(folder))
    return missing is not None


def refuse_blank(folder: RunFolder, facts: FactsView) -> None:
    """A ledger with nothing in it, in a folder with something: its newest part, or all of it, was lost."""
    found = traces(folder)  # looked for first: another process may be founding the run just now
    if found and facts.get("run_id") is None:
        _refuse(folder, "has nothing on record", found)


def _refuse(folder: RunFolder, what: str, found: list[str]) -> None:
    """A folder with a run's traces needs the run's ledger: without it, all would be asked and paid again."""
    if found:
        message = f"{home_of(folder).where} {what}, but the folder holds a run ({', '.join(found)}). {_way_out(folder)}"
        raise LedgerLost(message)


def check_age(folder: RunFolder, attempts: AttemptsView, run_id: str) -> Older | None:
    """What is to be known of a ledger that is older than its folder; LedgerLost when going on would pay twice.

    A batch that its provider lists with our token is found there before anything is sent. Calls leave no trace but
    their answers, and a batch without a tag cannot be told from others; nor is a token looked for that is of another
    run id, which a folder has where its first records were lost and it began anew.
    """
    sent = sent_attempts(folder.marks)
    known = attempts.sent_tokens()
    unknown = [token for token in sent if token not in known]
    if not unknown:
        return None
    names = ", ".join(unknown[:_SHOWN]) + (", ..." if len(unknown) > _SHOWN else "")
    were = "1 attempt was" if len(unknown) == 1 else f"{len(unknown):,} attempts were"
    text = (
        f"{home_of(folder).where}: this ledger is older than its folder: {were} sent that it does not know of ({names})"
    )
    if any(sent[token] != "batch" or not is_of_run(run_id, token) for token in unknown):
        raise LedgerLost(f"{text}. {_way_out(folder)}")
    text = f"{text}; the provider's listing is searched for them before anything is sent"
    return Older(text, frozenset(unknown))


def _way_out(folder: RunFolder) -> str:
    return (
        f"{home_of(folder).way_back}. Without one: `overnight adopt PROVIDER --token TOKEN` brings in a batch that "
        f"the provider still lists (tokens are in {folder.marks.where(SENT)}), "
        "and `--as NAME` starts anew under another name, which asks and pays again"
    )
