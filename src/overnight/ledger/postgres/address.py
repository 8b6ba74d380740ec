"""The address of a database that keeps runs: read, shown without its password, and connected to."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from overnight.core.errors import LedgerError, OutOfReach, StudyError
from overnight.ledger.postgres.connection import PostgresDatabase
from overnight.ledger.postgres.dialect import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    import psycopg

    from overnight.ledger.database import Row

SCHEMES = ("postgresql", "postgres")
# Ours; everything else in the address is the driver's.
FILES, LOCAL = "files", "local"
# What of the driver's may be shown: anything else may be a password, or one mistyped.
_SHOWN = frozenset(
    f"{FILES} {LOCAL} host hostaddr port user dbname service sslmode sslrootcert sslcert sslkey sslcrl sslnegotiation "
    "ssl_min_protocol_version channel_binding gssencmode krbsrvname connect_timeout target_session_attrs "
    "load_balance_hosts require_auth requirepeer".split()
)
# What the driver refuses in a name or a password, and repeats.
_UNWRITTEN = re.compile(r"\s|%(?!(?!00)[0-9A-Fa-f]{2})")
# How long a connection is waited for, and how long data may go unanswered before it counts as lost.
_CONNECT_SECONDS, _SILENT_MILLISECONDS = 10, 30_000
_LOCKED_MILLISECONDS, _IDLE_MILLISECONDS = 60_000, 300_000
_GO_ON = "run the same command again: it goes on where it stopped"
# No answer at all, the server is going down or coming up, or an operator has ended the connection.
_LOST = (None, "57P01", "57P02", "57P03", "08000", "08003", "08006")
_WORDS = {
    "53100": "the database's disk is full",
    "53200": "the database has no memory left for this (raise max_locks_per_transaction, or keep fewer runs in it)",
    "53300": "the database has no connection left (raise max_connections)",
    "55P03": "another connection holds what is to be written",
    "42501": "the database's user has not the rights for this",
    "25006": "the database can only be read (a standby?)",
}
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
    # A password with a sign of an address in it ends the name of the server too soon.
    ends_early = "@" in parts.path or bool(parts.fragment) or (parts.path in ("", "/") and "@" in parts.query)
    if ends_early or _UNWRITTEN.search(parts.netloc + parts.path):
        raise _no_address(where)
    given = dict(query)
    if any("\0" in value for value in given.values()):
        raise _no_address(where)
    if "@" in urlsplit(given.get(FILES, "")).netloc:
        raise StudyError(f"{where}: files=...@...: the address of a bucket has no key in it")
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
    plain = {name: value for name, value in query if name in _SHOWN}
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
    name: str = SHARED,
    begin: Callable[[psycopg.Connection[Row]], None] | None = None,
    finish: Callable[[PostgresDatabase], None] | None = None,
) -> PostgresDatabase:
    """OutOfReach in words, without the password.

    `name` is what the server knows the connection by; `begin` is what each new one begins with: it may refuse.
    """
    pg = driver()
    settings = f"-c search_path={f'{schema},' if schema else ''}{SHARED} -c jit=off -c synchronous_commit=on"
    # A server that hears nothing of us ends what we began, and never lets us wait for ever.
    settings += " -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
    settings += f" -c lock_timeout={_LOCKED_MILLISECONDS} -c idle_in_transaction_session_timeout={_IDLE_MILLISECONDS}"
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
        if begin is not None:
            try:
                begin(connection)
            except BaseException:
                connection.close()
                raise
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


def refused(where: str, error: psycopg.Error) -> LedgerError:
    """What the database says to a statement, or that it says nothing any more."""
    line = first_line(error)
    lost = driver().OperationalError, driver().InterfaceError
    if isinstance(error, lost) and error.sqlstate in _LOST:
        return OutOfReach(f"{where}: the connection to the database was lost: {line}; {_GO_ON}")
    return LedgerError(f"{where}: {_WORDS.get(error.sqlstate or '', 'the database refuses')}: {line}; {_GO_ON}")


@contextmanager
def told(address: Address) -> Iterator[None]:
    """What a database says to what is asked outside of a ledger is said in words, too."""
    try:
        yield
    except driver().Error as error:
        raise refused(address.shown, error) from error


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
