"""Who is told that a run has come to rest: once for each ending, when all is on record, and never at the run's cost."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from overnight.api.notebook.html import OUTCOMES
from overnight.core.errors import OvernightError
from overnight.core.money import DOLLAR
from overnight.engine.session import Session
from overnight.engine.work import Work
from overnight.ledger.transaction import Transaction
from overnight.notifying import (
    MOST_TARGETS,
    Ending,
    Target,
    check_service,
    check_targets,
    grant_targets,
    tell_all,
)
from overnight.settings import Settings

if TYPE_CHECKING:
    from overnight.api.work import Run

# The others go on by themselves, or the user is there who stopped them.
_ENDINGS = ("done", "rows failed", "over budget", "held up", "undecided")
# The fact that holds the ending that was told last; empty while the run goes on.
_TOLD = "told"


def check_notify(targets: Sequence[Target], settings: Settings, *, own: bool) -> None:
    """What would keep the run's end from being told is said before anything is sent. A rehearsal tells nobody."""
    if settings.emulate:
        return
    for target in targets:
        check_service(target, settings.environ)
    if own:
        grant_targets(targets, settings.environ)
    check_targets(targets, settings.environ)


def check_kept(run: str, work: Work, settings: Settings) -> None:
    """The same for a run on disk. It goes on without what is missing: that is said when it has ended."""
    check_targets(_kept(run, work), settings.environ)


def _kept(run: str, work: Work) -> list[Target]:
    """As a run has them on record, which may be of a stranger's making."""
    return [Target(text, f"{run}: notify") for text in work.notify[:MOST_TARGETS]]


def was_told(session: Session) -> bool:
    """Whether somebody was told that this run has ended."""
    return bool(session.ledger.view().facts.get(_TOLD))


def end_anew(session: Session) -> None:
    """There is something to do again: however it ends, that is news."""
    session.ledger.write("end anew", lambda tx: tx.facts.keep(_TOLD, "")).result()


class News:
    """What one pass over a run has to tell, if anything."""

    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._say = say
        self._run: Run | None = None
        self._targets: list[Target] = []

    def note(self, session: Session, work: Work, run: "Run") -> None:
        """Put the ending on record before it is told: nobody is told twice, whatever ends the pass in between."""
        if self._settings.emulate or not work.notify:
            return
        ending = run.state if run.state in _ENDINGS else ""

        def fact(tx: Transaction) -> bool:
            known = tx.facts.get(_TOLD) or ""
            if known != ending:
                tx.facts.keep(_TOLD, ending)
            return bool(ending) and known != ending

        if session.ledger.write("told", fact).result():
            self._run, self._targets = run, _kept(run.name, work)

    def tell(self) -> None:
        """After the run was let go: whoever goes on with it need not wait."""
        if self._run is not None:
            for line in tell_all(self._targets, _ending(self._run), self._settings.environ):
                self._say(line)


def _ending(run: "Run") -> Ending:
    """Counted anew: a pass that ended in trouble has no counts of its own."""
    rows: dict[str, int] | None = None
    cost = presumed = None
    try:
        status = run.status()
        rows = {"total": status.total("rows")} | {outcome: status.total(outcome) for outcome in OUTCOMES}
        if status.priced != "none":
            cost, presumed = status.spent / DOLLAR, status.presumed / DOLLAR
    except OvernightError:
        pass  # then without counts
    return Ending(
        run=run.name,
        state=run.state,
        message=run.message,
        exit_code=run.exit_code,
        rows=rows,
        cost=cost,
        presumed=presumed,
    )
