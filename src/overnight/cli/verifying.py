"""`verify`: whether a run is whole, in words and in an exit code."""

from overnight.cli.flags import Flags
from overnight.cli.looking import OneRun
from overnight.core.errors import RowsFailed


def verify(run: OneRun, /, *, flags: Flags = Flags()) -> int:  # noqa: B008 - frozen
    """Check a run's records, files and tables against one another.

    Asks no provider and changes nothing. The exit code is 0 when all is well and nothing is open, else 3.

    Examples:
      overnight verify essay-quality
      overnight verify essay-quality --json
    """
    # Imported late, as the display is.
    from rich.table import Table  # noqa: PLC0415

    from overnight.api.verify import verify as findings_of  # noqa: PLC0415

    display = flags.display()
    found = findings_of(run, emulate=flags.emulate, runs=flags.runs)
    picture = Table.grid(padding=(0, 2))
    picture.add_column(style="dim")
    picture.add_column(overflow="fold")
    for finding in found:
        picture.add_row(f"  {finding.kind}", finding.message)
        picture.add_row("", flags.typed(finding.mend))
    last = f"{run}: {_summary(len(found))}"
    display.show(found, last, *([picture] if found else []))
    return RowsFailed.exit_code if found else 0


def _summary(count: int) -> str:
    if not count:
        return "records, files and tables agree, and nothing is open"
    return "1 finding" if count == 1 else f"{count:,} findings"
