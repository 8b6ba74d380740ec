"""`--reask`: rows that are settled, but not as the user wants them, go back to the queue."""

from typing import Literal

import polars as pl

from overnight.core.ask import KEY_PREFIX
from overnight.core.errors import StudyError, nearest
from overnight.engine.session import Session
from overnight.ledger.answers import asks_by_key, settle_again, unsettle
from overnight.ledger.damage import damaged_asks, handed_on_asks
from overnight.ledger.threads import handed_on

Reask = Literal["failed", "unparsed", "refused", "truncated", "damaged"]
KINDS: tuple[Reask, ...] = ("failed", "unparsed", "refused", "truncated", "damaged")


def reask_rows(session: Session, kind: str) -> int:
    """Ask these again; the old answers stay on record. Returns how many."""
    if kind not in KINDS:
        message = f"--reask: '{kind}' is not one of {', '.join(KINDS)}{nearest(kind, KINDS)}"
        raise StudyError(message)
    if kind == "damaged":
        return _reask_damaged(session)
    if kind != "unparsed":
        _refuse_handed_on(session, kind)
        return session.db.write("reask", lambda db: unsettle(db, (kind,))).result()
    table = session.folder.tables / "results.parquet"
    if not table.exists():
        return 0
    frame = pl.scan_parquet(table, glob=False)
    if "parsed" not in frame.collect_schema():
        return 0
    keys = frame.filter(pl.col("parsed").not_()).select("request_key").unique().collect()["request_key"].to_list()
    raw = [bytes.fromhex(key.removeprefix(KEY_PREFIX)) for key in keys]
    return session.db.write("reask", lambda db: settle_again(db, asks_by_key(db, raw))).result()


def _reask_damaged(session: Session) -> int:
    """Answers that can no longer be read: what they cost stays on the bill."""
    reader = session.db.reader()
    asks = damaged_asks(reader, session.folder)
    given = handed_on_asks(reader, asks)
    if given:
        message = (
            f"--reask damaged: {given:,} of these answers have gone into later questions; start a copy: "
            "--as NAME --reask damaged"
        )
        raise StudyError(message)
    return session.db.write("reask", lambda db: settle_again(db, asks)).result()


def _refuse_handed_on(session: Session, kind: str) -> None:
    """A later stage has already asked about these answers: asking for others would leave it judging the old ones."""
    given = handed_on(session.db.reader(), (kind,))
    if given:
        message = (
            f"--reask {kind}: {given:,} of these rows were handed on to a later stage; start a copy with --as NAME"
        )
        raise StudyError(message)
