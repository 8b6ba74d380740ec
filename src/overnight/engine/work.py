"""How a run is to be worked on this time. None of it changes what is asked."""

import msgspec

from overnight.core.money import Budget, Purse
from overnight.core.stage import StagePace
from overnight.engine.decisions import TRIES, Mode
from overnight.engine.live.pace import Pacing
from overnight.engine.live.spill import Spill


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that the budget keeps back, and what they might cost, in nano-dollars."""

    rows: int = 0
    amount: int = 0
    # Whether that is the team's budget.
    by_team: bool = False
    # How many of the rows nobody can say the cost of: no budget lets them pass.
    unpriced: int = 0

    @classmethod
    def of(cls, purse: Purse) -> "Held":
        unpriced = purse.unpriced_rows
        rows = purse.held_rows + unpriced
        return cls(rows=rows, amount=purse.held_amount, by_team=purse.held_by_team, unpriced=unpriced)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    stages: dict[str, StagePace] = {}
    mode: Mode = "batch"
    pacing: Pacing = Pacing()
    # Seconds since 1970: when it must be done.
    deadline: float | None = None
    spill: Spill = Spill()
    budget: Budget | None = None
    poll_interval: float = 60.0
    per_job_delay: float = 2.0
    timeout: float = 86400.0
    send: bool = True
    until_sent: bool = False
    once: bool = False
    accept_account: bool = False
    cancel: bool = False
    can_ask_again: bool = True
    # How often a row is asked at most, as long as its failures may pass.
    tries: int = TRIES
    # How often a download is tried before the pass gives it up, and the pause between; without one it grows.
    download_tries: int = 6
    download_pause: float | None = None
    # Attempts whose batches have ended and do not give up some rows: the user says to ask for these again.
    reask_missing: tuple[int, ...] = ()
    description: str | None = None
    # Whether the tasks' own tables (rankings, say) are made when the pass ends; `rebuild` makes them at any time.
    own_tables: bool = True
    # Who is told when it has come to rest: addresses without secrets, and names of variables that hold others.
    notify: tuple[str, ...] = ()
