"""A team's budget over all runs of a database: no two of them pass it together.

Each run has a row with what it has cost and may still cost. Whoever cuts shards from its queue holds the team's row
from before it looks at the others' sums until its own is committed: so what one takes, the next one sees.
"""

from contextlib import closing
from typing import NamedTuple

from overnight.ledger.connection import Records
from overnight.ledger.postgres.address import Address, connect, told
from overnight.ledger.postgres.connection import PostgresDatabase
from overnight.ledger.postgres.dialect import SHARED
from overnight.ledger.postgres.registry import found_database, is_founded, looking
from overnight.ledger.spending import Spending

# Rehearsals cost nobody anything.
_REAL = "run.name NOT LIKE '.rehearsal/%'"


class Team(Records):
    """As one run of it sees it, inside a transaction. A run in a folder has no team."""

    def left(self) -> int | None:
        """What this run may still take, in nano-dollars; None where there is no budget. Others wait from here on."""
        own = self._db.run_number
        if own is None or not self._is_real(own) or self._budget("") is None:
            return None
        budget = self._budget(" FOR UPDATE")
        if budget is None:
            return None
        (others,) = self._db.execute(
            f"SELECT coalesce(sum(amount), 0) FROM {SHARED}.commitment WHERE run<>?", (own,)
        ).fetchone()
        return budget - int(others) - self._committed()

    def note(self) -> None:
        """Put on record for the others what this run has cost and may still cost."""
        own = self._db.run_number
        if own is not None and self._is_real(own):
            self._db.execute(
                f"INSERT INTO {SHARED}.commitment VALUES(?,?) ON CONFLICT(run) DO UPDATE SET amount=excluded.amount",
                (own, self._committed()),
            )

    def _budget(self, locked: str) -> int | None:
        (budget,) = self._db.execute(f"SELECT budget FROM {SHARED}.team{locked}").fetchone()
        return None if budget is None else int(budget)

    def _is_real(self, own: int) -> bool:
        query = f"SELECT 1 FROM {SHARED}.run WHERE number=? AND {_REAL}"
        return self._db.execute(query, (own,)).fetchone() is not None

    def _committed(self) -> int:
        return sum(balance.committed for balance in Spending(self._db).by_stage().values())


class TeamRun(NamedTuple):
    run: str
    committed: int


class TeamBudget(NamedTuple):
    """In nano-dollars; None is no budget."""

    budget: int | None
    runs: list[TeamRun]

    @property
    def committed(self) -> int:
        return sum(one.committed for one in self.runs)


def team_budget(address: Address) -> TeamBudget:
    with told(address):
        db = looking(address)
        return _found(db) if is_founded(db, address) else TeamBudget(None, [])


def set_team_budget(address: Address, budget: int | None) -> TeamBudget:
    with told(address), closing(connect(address)) as db:
        found_database(db, address)
        db.execute(f"UPDATE {SHARED}.team SET budget=?", (budget,))
        return _found(db)


def _found(db: PostgresDatabase) -> TeamBudget:
    (budget,) = db.execute(f"SELECT budget FROM {SHARED}.team").fetchone() or (None,)
    rows = db.execute(
        f"SELECT run.name, amount FROM {SHARED}.commitment JOIN {SHARED}.run ON run.number=commitment.run "
        f"WHERE {_REAL} ORDER BY amount DESC, run.name"
    )
    return TeamBudget(budget, [TeamRun(str(name), int(amount)) for name, amount in rows])
