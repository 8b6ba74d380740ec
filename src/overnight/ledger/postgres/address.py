"""The address of a database that keeps runs: read, shown without its password, and connected to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from overnight.core.errors import LedgerError, OutOfReach, StudyError
from overnight.ledger.postgres.connection import PostgresDatabase
from overnight.ledger.postgres.dialect import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    import psycopg

    from overnight.ledger.database import Row

SCHEMES = ("postgresql", "postgres")
# Ours; everything else in the address is the driver's.
FILES, LOCAL = "files", "local"
_SECRETS = ("password", "passfile", "sslpassword")
# How long a connection is waited for, and how long data may go unanswered before it counts as lost.
_CONNECT_SECONDS, _SILENT_MILLISECONDS = 10, 30_000
_LOCKED_MILLISECONDS, _IDLE_MILLISECONDS = 60_000, 300_000
_END_OTHERS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname=current_database() "
    "AND application_name=%s AND pid<>pg_backend_pid()"
)
_MISSING = "runs in PostgreSQL need the extra: pip install 'overnight[postgres]'"


class Address(NamedTuple):
    """Where runs are kept: a database, and where their files are; `local` is for what people open."""

    # As it was typed, and what the driver is given of it: with the password, and never shown.
    text: str
    url: str
    shown: str
    files: str
    local: str | None


def is_database(runs: str) -> bool:
    return runs.partition("://")[0].lower() in SCHEMES


def read_address(text: str, where: str = "--runs") -> Address:
    """StudyError names what is wrong with it."""
    try:
        parts = urlsplit(text)
        port = parts.port
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _no_address(where) from None
    if "@" in parts.path:
        raise _no_address(where)
    given = dict(query)
    shown = f"postgresql://{_server(parts.username, parts.hostname, port)}{parts.path}"
    if parts.path in ("", "/"):
        raise StudyError(f"{where}: {shown} names no database; wanted postgresql://HOST/DATABASE?files=PLACE")
    if not given.get(FILES):
        raise StudyError(
            f"{where}: {shown} does not say where files are kept; add ?files=s3://BUCKET/PREFIX, gs://BUCKET/PREFIX "
            "or a folder that all who work on these runs share"
        )
    drivers = {name: value for name, value in query if name not in (FILES, LOCAL)}
    url = f"{parts.scheme}://{parts.netloc}{parts.path}{'?' + urlencode(drivers) if drivers else ''}"
    plain = {name: value for name, value in query if name not in _SECRETS}
    return Address(text, url, f"{shown}?{urlencode(plain, safe='/:', quote_via=quote)}", given[FILES], given.get(LOCAL))


def _no_address(where: str) -> StudyError:
    """What was found is not repeated: it may be a part of the password."""
    return StudyError(
        f"{where}: this is no address of a database; wanted postgresql://HOST/DATABASE?files=PLACE, with signs "
        "such as / and @ in a password or a name written as %2F and %40"
    )


def _server(user: str | None, host: str | None, port: int | None) -> str:
    name = f"[{host}]" if host and ":" in host else unquote(host or "")
    return (f"{user}@" if user else "") + name + (f":{port}" if port else "")


def driver() -> ModuleType:
    try:
        import psycopg  # noqa: PLC0415 - an extra: loaded when a run is kept so
    except ImportError as error:
        raise StudyError(_MISSING) from error
    return psycopg


_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def connect(
    address: Address,
    *,
    schema: str | None = None,
    read_only: bool = False,
    alone: bool = False,
    finish: Callable[[PostgresDatabase], None] | None = None,
) -> PostgresDatabase:
    """OutOfReach in words, without the password.

    `alone`: what is left of earlier connections to this schema is ended. One that broke in the middle of a transaction
    may still be there for the server, and hold what it has written against everybody who comes after it.
    """
    pg = driver()
    settings = f"-c search_path={f'{schema},' if schema else ''}{SHARED} -c jit=off -c synchronous_commit=on"
    # A server that hears nothing of us ends what we began, and never lets us wait for ever.
    settings += " -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
    settings += f" -c lock_timeout={_LOCKED_MILLISECONDS} -c idle_in_transaction_session_timeout={_IDLE_MILLISECONDS}"
    name = f"overnight {schema}" if alone else "overnight"
    if read_only:
        settings += " -c default_transaction_read_only=on"

    def connected() -> psycopg.Connection[Row]:
        try:
            connection: psycopg.Connection[Row] = pg.connect(
                address.url,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                tcp_user_timeout=_SILENT_MILLISECONDS,
                # A server that died after it had our question is noticed, too.
                **_KEEPALIVES,
                application_name=name,
                client_encoding="utf8",
                options=settings,
            )
        except (pg.Error, UnicodeError) as error:
            raise unreachable(address, error) from error
        _adapt(connection)
        if alone:
            connection.execute(_END_OTHERS, (name,))
        return connection

    return PostgresDatabase(connected, (pg.Error, pg.errors.UniqueViolation), finish)


def unreachable(address: Address, error: Exception) -> OutOfReach:
    return OutOfReach(f"{address.shown}: {_why(first_line(error))}")


def _why(line: str) -> str:
    for beginning, words in (
        ("password authentication failed", "it refuses the password; set PGPASSWORD or ~/.pgpass"),
        ("no password supplied", "it wants a password; set PGPASSWORD or ~/.pgpass"),
        ("database ", "there is no such database; create it first (createdb)" if "does not exist" in line else ""),
        ("too many connections", "it has no connection left; raise its max_connections"),
        ("sorry, too many clients", "it has no connection left; raise its max_connections"),
    ):
        if words and beginning in line:
            return f"{words} ({line})"
    return f"the database cannot be reached: {line}; check the address and the network, and run the same command again"


def first_line(error: Exception) -> str:
    """What the server or the driver says, in one line and without what leads up to it."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return re.sub(r"^.*(FATAL|ERROR): +", "", re.sub(r"^connection failed: +", "", text))


def refused(address: Address, error: Exception) -> LedgerError | None:
    """What the database says to a statement; None for an error of anybody else."""
    if not isinstance(error, driver().Error):
        return None
    return LedgerError(f"{address.shown}: the database refuses: {first_line(error)}")


def _adapt(connection: psycopg.Connection[Row]) -> None:
    """Numbers are whole and truth is 0 or 1, as in SQLite; a zero byte, which no text can keep here, is replaced."""
    from psycopg.adapt import Dumper, Loader  # noqa: PLC0415 - an extra
    from psycopg.types.string import StrDumper  # noqa: PLC0415

    class Whole(Dumper):
        oid = 20

        def dump(self, obj: Any) -> bytes:
            return str(int(obj)).encode()

        def quote(self, obj: Any) -> bytes:
            return b" " + self.dump(obj)

    class Sum(Loader):
        def load(self, data: Any) -> Any:
            text = bytes(data).decode()
            return float(text) if "." in text else int(text)

    class Text(StrDumper):
        oid = 0

        def dump(self, obj: str) -> Any:
            return super().dump(obj.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in obj else obj)

    adapters = connection.adapters
    for kind in (bool, int):
        adapters.register_dumper(kind, cast("Any", Whole))
    adapters.register_dumper(str, cast("Any", Text))
    adapters.register_loader("numeric", cast("Any", Sum))
