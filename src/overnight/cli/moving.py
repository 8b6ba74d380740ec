"""For runs in a database: `pull` and `push`, from there into a folder and back, and `team`, the budget of them all."""

from typing import TYPE_CHECKING, Annotated

from overnight.cli.flags import Flags
from overnight.cli.looking import OneRun
from overnight.core.wording import number_of
from overnight.terminal.parameters import Parameter

if TYPE_CHECKING:
    from overnight.api.moving import Moved


def pull(
    run: OneRun,
    /,
    *,
    to: Annotated[
        str, Parameter(help="Folder that holds the runs of this machine; default: runs.", metavar="DIR")
    ] = "runs",
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Bring a run home from a database, as a folder.

    It goes on there; the database then refuses work on it, and says where it is. Whatever stops this, the same command
    again goes on.

    Examples:
      overnight pull night --runs 'postgresql://db.lab/overnight?files=s3://lab/runs'
      overnight pull night --to /data/runs
    """
    # Imported late, as the display is.
    from overnight.api.moving import pull as brought  # noqa: PLC0415

    return _told(brought(str(run), to=to, emulate=flags.emulate, runs=flags.runs), flags)


def push(
    run: OneRun,
    /,
    *,
    to: Annotated[
        str, Parameter(help="The database, and the place for files: postgresql://HOST/DB?files=PLACE.", metavar="PLACE")
    ],
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Bring a run into a database, so that others can work on it.

    Its folder then refuses work on it, and says where it is.

    Examples:
      overnight push night --to 'postgresql://db.lab/overnight?files=s3://lab/runs'
    """
    from overnight.api.moving import push as brought  # noqa: PLC0415 - as above

    return _told(brought(str(run), to=to, emulate=flags.emulate, runs=flags.runs), flags)


def _told(moved: "Moved", flags: Flags) -> int:
    files = "1 file" if moved.files == 1 else f"{moved.files:,} files"
    said = f"{moved.run}: brought to {moved.where} ({moved.rows:,} records, {files}); `rebuild` makes its tables there"
    flags.display().show(moved._asdict(), said)
    return 0


def team(
    *,
    budget: Annotated[float | None, Parameter(help="Set it to so many US dollars.", metavar="USD", negative="")] = None,
    no_budget: Annotated[bool, Parameter(name="--no-budget", help="Take it away.", negative="")] = False,
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Show or set the budget over all runs of a database.

    What runs have cost and may still cost never passes it, however many work at once. Rows that would pass it wait.

    Examples:
      overnight team --runs 'postgresql://db.lab/overnight?files=s3://lab/runs'
      overnight team --budget 500
    """
    from rich.text import Text  # noqa: PLC0415 - as above

    from overnight.api.team import team as shared  # noqa: PLC0415

    found = shared(budget=budget, no_budget=no_budget, runs=flags.runs)
    whole = "no budget" if found.budget is None else f"{found.budget:,.2f} USD"
    runs = number_of(len(found.runs), "run")
    last = f"the team's budget: {whole}; {found.committed:,.2f} USD spent or set aside by {runs}"
    each = [Text(f"{amount:>14,.2f}  {name}") for name, amount in found.runs.items()]
    return flags.display().show(found._asdict(), last, *each)
