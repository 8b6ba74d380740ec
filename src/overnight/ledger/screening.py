"""Phases on record: which stages have begun after another, and who was let through."""

from collections.abc import Iterable, Sequence

from overnight.core.screening import Decision
from overnight.ledger.connection import Records


class ScreeningView(Records):
    """Decisions on what moves on to a later phase."""

    def opened(self, stage: int) -> str | None:
        """What the stage was begun from, as `extent` tells it; None as long as it has not begun."""
        row = self._db.execute("SELECT extent FROM opened WHERE stage=?", (stage,)).fetchone()
        return None if row is None else str(row[0])

    def extent(self, stage: int, before: Sequence[int]) -> str:
        """How much there is to decide on and by: it differs when items, models or answers have been added."""
        (items,) = self._db.execute("SELECT count(*) FROM item WHERE stage=?", (stage,)).fetchone()
        (arms,) = self._db.execute("SELECT count(*) FROM arm WHERE stage=?", (stage,)).fetchone()
        asked = [
            self._db.execute(
                "SELECT coalesce(sum(addresses), 0) FROM counted JOIN arm ON arm.id=counted.arm WHERE arm.stage=?",
                (one,),
            ).fetchone()[0]
            for one in before
        ]
        return "/".join(map(str, (items, arms, *asked)))

    def answers(self, source: int) -> str:
        """How much a stage has been asked and has said: it differs when anything has been added or asked again."""
        rows = self._db.execute(
            "SELECT outcome, sum(addresses) FROM counted JOIN arm ON arm.id=counted.arm WHERE arm.stage=? "
            "GROUP BY outcome HAVING sum(addresses) > 0 ORDER BY outcome",
            (source,),
        )
        return " ".join(f"{outcome} {addresses}" for outcome, addresses in rows)

    def decisions(self, stage: int) -> list[Decision]:
        rows = self._db.execute(
            "SELECT unit, n, value, lwr, upr, moved, why FROM screening WHERE stage=? ORDER BY unit", (stage,)
        )
        return [
            Decision(unit=unit, n=n, value=value, lwr=lwr, upr=upr, moved=bool(moved), why=why)
            for unit, n, value, lwr, upr, moved, why in rows
        ]


class Screening(ScreeningView):
    """Decisions that are made."""

    def keep(self, stage: int, decisions: Iterable[Decision]) -> None:
        """Each is made once."""
        self._db.executemany(
            "INSERT INTO screening VALUES(?,?,?,?,?,?,?,?)",
            ((stage, one.unit, one.n, one.value, one.lwr, one.upr, int(one.moved), one.why) for one in decisions),
        )

    def open(self, stage: int, extent: str, at: float) -> None:
        """The stage has begun; again, where there was more to begin with."""
        self._db.execute(
            "INSERT INTO opened VALUES(?,?,?) ON CONFLICT(stage) DO UPDATE SET extent=excluded.extent, at=excluded.at",
            (stage, extent, at),
        )
