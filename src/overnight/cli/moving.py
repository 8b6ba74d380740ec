"""`pull` and `push`: a run from a database into a folder, and back."""

from typing import TYPE_CHECKING, Annotated

from overnight.cli.flags import Flags
from overnight.cli.looking import OneRun
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
