"""What can go wrong for the operator. A failed request is not here: it is a Result.

OvernightError
  StudyError            the study, the command line or an input file is wrong      exit 2
    WrongArgument       a function of ours was called with something it cannot take
    UnknownName         a provider, model, task, option or run that does not exist
    StudyChanged        the run was started with other questions
    ConsentNeeded       a study or run wants what only the user may allow
    RowsFailed          the run is done, but rows failed for good                  exit 3
    BudgetExceeded      the rest would pass the cap                                exit 5
  ProviderError         the provider or the network                                exit 4
    Unauthorized        the key is missing, wrong or has no rights
    OutOfCredit         the account cannot pay
    Throttled           asked to slow down
    Unavailable         no connection, or the provider's own trouble
    Rejected            the provider refused a request for good
    Gone                the provider no longer keeps it
    AccountChanged      another key or address than the one the batches were sent with
  LedgerError           the run's folder or ledger                                 exit 2
    LedgerTooNew        written by a newer version
    LedgerLost          gone, or older than what the folder shows
    RunBusy             another process holds the run
    RunMoved            the run is kept elsewhere now
    LeaseLost           another process has taken the run over
    FolderUnfit         cannot be locked or written safely
    RowDamaged          a row of the ledger is none that its task has made
    FileDamaged         a file of the run is not what the ledger says of it, or no plain file
    OutOfReach          the place that keeps the run does not answer: worth trying    exit 4
KeyboardInterrupt
  Interrupted           Ctrl-C, after a safe stop                                  exit 130
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from overnight.core.exit_codes import FAULT, OVER_BUDGET, PROVIDER, ROWS_FAILED, WRONG_USE
from overnight.core.wording import in_one_line, quoted


class OvernightError(Exception):
    """Something the operator must know, in one line, whatever words of others are in it."""

    exit_code: ClassVar[int] = FAULT

    def __init__(self, *args: Any) -> None:
        super().__init__(*(in_one_line(one) if isinstance(one, str) else one for one in args))


class StudyError(OvernightError):
    """The study, the command line or an input file is wrong."""

    exit_code = WRONG_USE


class WrongArgument(StudyError, TypeError, ValueError):
    """A function was called with something it cannot take. Programs may catch it as Python's own errors, too."""


class UnknownName(StudyError):
    """A name that nothing answers to."""


class StudyChanged(StudyError):
    """The run was started with other questions."""


class ConsentNeeded(StudyError):
    """A study or a run wants to send to an address, or read a file, that only the user may allow."""


class RowsFailed(StudyError):
    """The run is done, but some rows failed for good."""

    exit_code = ROWS_FAILED


class BudgetExceeded(StudyError):
    """The rest of the run would pass the budget."""

    exit_code = OVER_BUDGET


class ProviderError(OvernightError):
    """The provider or the network."""

    exit_code = PROVIDER


class Unauthorized(ProviderError):
    """The key is missing, wrong, or has no rights here."""


class OutOfCredit(ProviderError):
    """The account cannot pay."""


class Throttled(ProviderError):
    """The provider asks to slow down."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(ProviderError):
    """No connection, or the provider's own trouble: worth trying again."""


class Rejected(ProviderError):
    """The provider refused a request for good. `kind` is the refusal's kind where it is known."""

    def __init__(self, message: str, kind: str = "invalid") -> None:
        super().__init__(message)
        self.kind = kind


class Gone(ProviderError):
    """The provider no longer keeps it."""


class AccountChanged(ProviderError):
    """Another key or address than the one the batches were sent with."""


class LedgerError(OvernightError):
    """The run's folder or its ledger."""

    exit_code = WRONG_USE


class LedgerTooNew(LedgerError):
    """The ledger was written by a newer version."""


class LedgerLost(LedgerError):
    """The folder shows that more was sent than the ledger knows."""


class RunBusy(LedgerError):
    """Another process holds the run."""


class RunMoved(LedgerError):
    """The run was brought elsewhere, and goes on there."""


class LeaseLost(LedgerError):
    """Another process has taken the run over: this one writes and sends nothing more."""


class FolderUnfit(LedgerError):
    """The folder cannot be locked or written safely."""


class RowDamaged(LedgerError):
    """A row on record whose address or item is not one that its task has made."""

    def __init__(self, row: str, problem: str) -> None:
        super().__init__(
            f"row {quoted(row)} of the ledger {problem}; bring ledger.db back from a copy of the run; "
            "`overnight verify` tells more"
        )


class FileDamaged(LedgerError):
    """A file of the run is not what the ledger says of it: nothing is made of it, and nothing in it is sent.

    Nor is a link or a pipe in its place, which is not even opened.
    """


class OutOfReach(LedgerError):
    """The bucket or database that keeps the run does not answer: nothing is lost, and it is worth trying again."""

    exit_code = PROVIDER


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after a safe stop: what was under way is on record, and `runs` tell how they stand."""

    def __init__(self, message: str, runs: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.runs = list(runs)


def nearest(name: str, known: Iterable[str], close: float = 0.6) -> str:
    """`; did you mean 'x'?`, or nothing when nothing is as near as `close`."""
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=close)
    return f"; did you mean '{found[0]}'?" if found else ""
