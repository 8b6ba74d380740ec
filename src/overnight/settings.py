"""What the surroundings say: where runs are kept, whether this is a rehearsal, and the environment with `.env`."""

import os
import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import msgspec
from dotenv import dotenv_values

from overnight.consent import in_env_file, place_variables
from overnight.core.arguments import checked
from overnight.core.errors import StudyError
from overnight.core.files import text_file
from overnight.core.names import HISTORY
from overnight.core.wording import quoted
from overnight.ledger.account_places import AccountFile, AccountPlace, SharedAccounts
from overnight.ledger.postgres.address import Address, is_database, read_address

# Every variable that Overnight itself reads; the providers' own are in docs/providers.md.
VARIABLES = {
    "OVERNIGHT_RUNS": "folder, or database, that holds the runs (default: runs)",
    "OVERNIGHT_EMULATE": "1 rehearses on the built-in emulator, as --emulate does",
    "OVERNIGHT_ON": "where live calls are made, as --on says: ray, or ray:4 for so many actors (default: here)",
    "OVERNIGHT_TRUTH": "truth file for the emulator that --emulate starts",
    "OVERNIGHT_TIME_SCALE": "how many times faster than real time a rehearsal runs (default: 600); never a real run",
}
# The flags that say the same.
_FLAGS = {
    "OVERNIGHT_RUNS": " or say --runs",
    "OVERNIGHT_EMULATE": " or say --emulate",
    "OVERNIGHT_TRUTH": " or say --truth",
}
REHEARSAL_SCALE = 600.0
# Where tables and reports of runs in a database are made, unless its address says `local=`.
_LOCAL = "shared-runs"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    runs: Path
    # Where runs are kept in a database, `runs` is the local folder for what people open: tables and reports.
    database: Address | None = None
    emulate: bool = False
    truth: Path | None = None
    time_scale: float = 1.0
    # Where live calls are made: `ray`, or `ray:4` for so many actors; here, where nothing is said.
    on: str | None = None
    environ: dict[str, str] = {}
    # The variables whose values are those of `.env`: it may lie in a folder that somebody sent.
    env_file: frozenset[str] = frozenset()

    @property
    def root(self) -> Path:
        """Where runs are: a rehearsal's never lie beside real ones."""
        return self.runs / ".rehearsal" if self.emulate else self.runs

    @property
    def accounts(self) -> AccountPlace:
        """Where what runs have learned of accounts is kept."""
        if self.database is not None:
            return SharedAccounts(self.database, rehearsal=self.emulate)
        return AccountFile(self.root / HISTORY)

    @property
    def where(self) -> str:
        """How people find the runs; never with a password."""
        return str(self.root) if self.database is None else self.database.shown

    @property
    def typed_runs(self) -> str:
        """What `--runs` was, for a record: whoever uses it later brings the password of a database with them."""
        return str(self.runs.absolute()) if self.database is None else self.database.shown


@checked
def emulate(on: bool = True) -> None:
    """From here on, every verb rehearses on the built-in emulator; `emulate(False)` ends that."""
    os.environ["OVERNIGHT_EMULATE"] = "1" if on else "0"


def settings(
    *,
    runs: str | Path | None = None,
    emulate: bool | None = None,
    truth: str | Path | None = None,
    on: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Arguments first, then the environment; keys may also be in `.env` in the working folder."""
    own = os.environ if environ is None else environ
    filed = _env_file(own)
    values = {**filed, **own}
    rehearsal = _flag(values.get("OVERNIGHT_EMULATE")) if emulate is None else emulate
    scale = _number(values, "OVERNIGHT_TIME_SCALE", REHEARSAL_SCALE) if rehearsal else real_time(values)
    script = truth or values.get("OVERNIGHT_TRUTH")
    written = str(runs or values.get("OVERNIGHT_RUNS") or "runs")
    database = _database(written, "--runs" if runs else "OVERNIGHT_RUNS")
    return Settings(
        runs=Path(written if database is None else database.local or _LOCAL),
        database=database,
        emulate=rehearsal,
        truth=Path(script) if script and rehearsal else None,
        time_scale=scale,
        on=_spread(on or values.get("OVERNIGHT_ON"), "--on" if on else "OVERNIGHT_ON"),
        environ=values,
        env_file=frozenset(filed.keys() - own.keys()),
    )


def _database(runs: str, where: str) -> Address | None:
    """Where runs are kept, if that is a database; StudyError for a place that is neither that nor a folder."""
    scheme, mark, _ = runs.partition("://")
    if not mark or "/" in scheme:
        return None
    if not is_database(runs):
        raise StudyError(
            f"{where}: runs cannot be kept in {scheme}://; wanted a folder, or postgresql://HOST/DATABASE?files=PLACE"
        )
    return read_address(runs, where)


def _spread(text: str | None, where: str) -> str | None:
    if not text:
        return None
    if re.fullmatch(r"ray(:[1-9]\d{0,3})?", text) is None:
        raise StudyError(f"{where}: live calls cannot be made on {quoted(text)}; wanted ray, or ray:4 for 4 actors")
    return text


def real_time(_: Mapping[str, str]) -> float:
    """How fast time passes for a provider that bills: as it does, whatever the surroundings say.

    How long a lost create is looked for is told by this clock, so that a faster one would pay twice. Tests whose
    provider is an emulator put its time in this place (tests/own_time.py).
    """
    return 1.0


def _env_file(own: Mapping[str, str]) -> dict[str, str]:
    """What `.env` may say, as it stands there: keys and what goes with them; it reads nothing of the environment.

    A setting of ours in it is refused, unless the environment has it anyway: the file may have come with somebody
    else's study, but it may also be the user's, who would then send for real what was to be a rehearsal.
    """
    path = Path(".env")
    if not path.is_file():  # nor a pipe, which would be waited for
        return {}
    written = dotenv_values(stream=StringIO(text_file(path, "the settings in")), interpolate=False)
    for name in (*VARIABLES, *place_variables()):
        if written.get(name) and name not in own:
            raise StudyError(
                f"{path}: {name} is a setting, and this file may hold keys only, because it may be somebody else's; "
                f"set it in the environment (export {name}=...){_FLAGS.get(name, '')}"
            )
    wanted = in_env_file(written)
    return {name: value for name, value in written.items() if value is not None and name in wanted}


def _flag(text: str | None) -> bool:
    return (text or "").strip().lower() not in ("", "0", "false", "no", "off")


def _number(values: Mapping[str, str], name: str, default: float) -> float:
    text = values.get(name)
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if number <= 0:
        message = f"{name}: '{text}' is not a number above 0"
        raise StudyError(message)
    return number
