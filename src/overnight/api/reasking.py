"""`--reask`: rows that are settled, but not as the user wants them, go back to the queue."""

from typing import Literal

import polars as pl

from overnight.core.ask import KEY_PREFIX
from overnight.core.errors import StudyError, nearest
from overnight.engine.session import Session

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
        return session.ledger.write("reask", lambda tx: tx.answers.unsettle((kind,))).result()
    table = session.folder.tables_to_read() / "results.parquet"
    if not table.exists():
        return 0
    frame = pl.scan_parquet(table, glob=False)
    if "parsed" not in frame.collect_schema():
        return 0
    keys = frame.filter(pl.col("parsed").not_()).select("request_key").unique().collect()["request_key"].to_list()
    raw = [bytes.fromhex(key.removeprefix(KEY_PREFIX)) for key in keys]
    return session.ledger.write("reask", lambda tx: tx.answers.ask_again(tx.answers.asks_by_key(raw))).result()


def _reask_damaged(session: Session) -> int:
    """Answers that can no longer be read: what they cost stays on the bill."""
    view = session.ledger.view()
    asks = view.answers.damaged(session.folder.files)
    given = view.threads.handed_on_asks(asks)
    if given:
        message = (
            f"--reask damaged: {given:,} of these answers have gone into later questions; start a copy: "
            "--as NAME --reask damaged"
        )
        raise StudyError(message)
    return session.ledger.write("reask", lambda tx: tx.answers.ask_again(asks)).result()


def _refuse_handed_on(session: Session, kind: str) -> None:
    """A later stage has already asked about these answers: asking for others would leave it judging the old ones."""
    given = session.ledger.view().threads.handed_on((kind,))
    if given:
        message = (
            f"--reask {kind}: {given:,} of these rows were handed on to a later stage; start a copy with --as NAME"
        )
        raise StudyError(message)
