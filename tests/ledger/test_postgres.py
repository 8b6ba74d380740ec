"""What is PostgreSQL's own: addresses, the dialect, connections that break, and commits whose answer is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

import own_database
import postgres_server
from overnight.core.clock import steady
from overnight.core.errors import LeaseLost, OutOfReach, RunBusy, StudyError
from overnight.ledger.ledger import Ledger
from overnight.ledger.postgres import lease as leases
from overnight.ledger.postgres.address import Address, connect, is_database, read_address
from overnight.ledger.postgres.dialect import bound, translated
from overnight.ledger.postgres.home import PostgresHome
from overnight.ledger.postgres.lease import Lease
from overnight.ledger.postgres.registry import found_database, keep_run, looking
from overnight.settings import settings
from scenarios.cut_network import PORT, CuttableNetwork, socket_in

PASSWORD = "hunter2-not-for-you"


@pytest.fixture
def address(tmp_path: Path) -> Address:
    return read_address(own_database.address_of(tmp_path))


@pytest.fixture
def lease(address: Address) -> Iterator[Lease]:
    with closing(connect(address)) as db:
        found_database(db, address)
        held = Lease(address, keep_run(db, "night")[0])
        held.take(db)
    yield held
    held.let_go()


@pytest.fixture
def ledger(address: Address, lease: Lease) -> Iterator[Ledger]:
    with closing(Ledger(_home(address, lease))) as ledger:
        yield ledger


def _home(address: Address, lease: Lease) -> PostgresHome:
    return PostgresHome(address, "night", lease)


def keep(ledger: Ledger, name: str) -> None:
    ledger.write(name, lambda tx: tx.facts.keep(name, "1")).result()


def test_an_address_is_shown_without_its_password() -> None:
    typed = f"postgresql://lab:{PASSWORD}@db.lab:5433/runs?files=s3://lab/runs&password={PASSWORD}&sslmode=require"
    address = read_address(typed)
    assert address.shown == "postgresql://lab@db.lab:5433/runs?files=s3://lab/runs&sslmode=require"
    assert (address.files, address.local) == ("s3://lab/runs", None)
    assert "files=" not in address.url
    place = settings(runs=typed)
    assert PASSWORD not in place.where + place.typed_runs
    assert str(place.root) == "shared-runs"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("postgresql://db.lab/runs", "does not say where files are kept"),
        ("postgresql://db.lab?files=x", "names no database"),
        (f"postgresql://lab:{PASSWORD}/x@db.lab/runs?files=x", "this is no address of a database"),
        (f"postgresql://lab:12/{PASSWORD}@db.lab/runs?files=x", "this is no address of a database"),
        (f"postgresql://lab:12#{PASSWORD}@db.lab/runs?files=x", "this is no address of a database"),
        (f"postgresql://lab:12?{PASSWORD}@db.lab/runs?files=x", "this is no address of a database"),
        (f"postgresql://lab:%zz{PASSWORD}@db.lab/runs?files=x", "this is no address of a database"),
        (f"postgresql://lab:%00{PASSWORD}@db.lab/runs?files=x", "this is no address of a database"),
        (f"postgresql://lab:a {PASSWORD}@db.lab/runs?files=x", "this is no address of a database"),
        (f"postgresql://lab@db.lab/runs?files=x&password={PASSWORD}%00", "this is no address of a database"),
        (f"postgresql://db.lab/runs?files=s3://key:{PASSWORD}@lab/x", "the address of a bucket has no key in it"),
        ("mysql://db.lab/runs", "runs cannot be kept in mysql://"),
        ("s3://lab/runs", "runs cannot be kept in s3://"),
    ],
)
def test_a_place_that_is_none_is_told_in_one_line_that_repeats_no_password(typed: str, said: str) -> None:
    with pytest.raises(StudyError) as told:
        settings(runs=typed)
    assert said in str(told.value)
    assert PASSWORD not in str(told.value)


@pytest.mark.parametrize("password", ["%25%2F%3A%40%23%3F%20", "p+ss&w", "[x]", "%C3%A4", "a=b;c'd\"e\\f"])
def test_a_password_may_have_any_sign_that_is_written_as_an_address_wants_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, password: str
) -> None:
    """The server asks for none here: what is told is that the driver takes it, and that nobody repeats it."""
    typed = own_database.address_of(tmp_path).replace("postgres@", f"postgres:{quote(password, safe='%')}@")
    address = read_address(typed)
    assert conninfo_to_dict(address.url)["password"] == unquote(quote(password, safe="%"))
    assert "postgresql://postgres@" in address.shown
    with closing(connect(address)) as db:
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_a_password_under_a_name_that_nobody_knows_is_not_shown() -> None:
    address = read_address(f"postgresql://lab@127.0.0.1:1/runs?files=x&pasword={PASSWORD}&PASSWORD={PASSWORD}")
    assert address.shown == "postgresql://lab@127.0.0.1:1/runs?files=x"
    with pytest.raises(OutOfReach, match='invalid URI query parameter: "pasword"') as told:
        connect(address)
    assert PASSWORD not in str(told.value)


def test_a_folder_is_no_database() -> None:
    assert [is_database(one) for one in ("runs", "/data/runs", "postgres://h/d", "C:/runs")] == [
        False,
        False,
        True,
        False,
    ]


def test_a_server_that_does_not_answer_is_told_without_the_password() -> None:
    with pytest.raises(OutOfReach, match="the database cannot be reached") as told:
        connect(read_address(f"postgresql://lab:{PASSWORD}@127.0.0.1:1/runs?files=x"))
    assert PASSWORD not in str(told.value)
    assert told.value.exit_code == 4


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("SELECT a FROM t WHERE b=? AND c IN (?,?)", "SELECT a FROM t WHERE b=%s AND c IN (%s,%s)"),
        ("SELECT ?1, ?2 WHERE ?1 > 0", "SELECT %(v1)s, %(v2)s WHERE %(v1)s > 0"),
        ("SELECT :one FROM a CROSS JOIN b ON a.x=b.x", "SELECT %(one)s FROM a JOIN b ON a.x=b.x"),
        ("SELECT 1 WHERE name LIKE 'called_off:%' AND x='a?'", "SELECT 1 WHERE name LIKE 'called_off:%%' AND x='a?'"),
    ],
)
def test_marks_for_values_are_translated_and_nothing_in_quotes_is(ours: str, theirs: str) -> None:
    assert translated(ours).text == theirs


def test_numbered_values_are_given_by_name() -> None:
    assert bound(translated("SELECT ?2, ?1"), ("a", "b")) == {"v1": "a", "v2": "b"}


def test_what_a_broken_connection_left_behind_keeps_nobody_waiting(address: Address, lease: Lease) -> None:
    home = _home(address, lease)
    with closing(home.writer()) as broken:
        broken.begin()
        broken.execute("INSERT INTO fact VALUES('one', '1')")  # and nobody hears of it any more
        with closing(home.writer()) as new:
            new.begin()
            new.execute("INSERT INTO fact VALUES('one', '2')")
            new.commit()
        with pytest.raises(errors.OperationalError):
            broken.commit()
    with closing(home.reader()) as db:
        assert db.execute("SELECT value FROM fact WHERE name='one'").fetchone() == ("2",)


def test_a_connection_that_broke_between_two_commits_is_made_anew(ledger: Ledger, address: Address) -> None:
    keep(ledger, "one")
    _end_connections(address)
    keep(ledger, "two")
    assert ledger.view().facts.get("two") == "1"
    _end_connections(address)
    assert ledger.view().facts.get("one") == "1"


def test_a_transaction_that_broke_in_the_middle_is_told_and_leaves_nothing(ledger: Ledger, address: Address) -> None:
    def fact(tx: object) -> None:
        tx.facts.keep("half", "1")  # type: ignore[attr-defined]
        _end_connections(address)
        tx.facts.keep("rest", "1")  # type: ignore[attr-defined]

    with pytest.raises(OutOfReach, match="the connection to the database was lost"):
        ledger.write("half", fact).result()
    keep(ledger, "later")
    assert [ledger.view().facts.get(name) for name in ("half", "rest", "later")] == [None, None, "1"]


def test_who_was_replaced_commits_nothing(ledger: Ledger, address: Address, lease: Lease) -> None:
    keep(ledger, "mine")
    with closing(connect(address)) as db:
        with pytest.raises(RunBusy, match="run 'night' is being worked on by another process"):
            Lease(address, lease.run).take(db)
        db.execute("UPDATE overnight.run SET until=clock_timestamp()-interval '1 second'")
        other = Lease(address, lease.run)
        other.take(db)
    assert other.epoch == lease.epoch + 1
    with pytest.raises(LeaseLost, match="another process has taken this run over"):
        keep(ledger, "late")
    assert ledger.view().facts.get("late") is None
    other.let_go()


def test_who_was_replaced_is_told_without_writing(
    address: Address, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "SECONDS", 0.4)
    with closing(connect(address)) as db:
        db.execute("UPDATE overnight.run SET until=clock_timestamp()-interval '1 second'")
        held = Lease(address, lease.run)
        held.take(db)
        home = _home(address, held)
        home.refuse_replaced()
        db.execute("UPDATE overnight.run SET epoch=epoch+1")
        assert until(lambda: held.replaced)
        with pytest.raises(LeaseLost, match="another process has taken this run over"):
            home.refuse_replaced()
    held.let_go()


def next_holder(address: Address, lease: Lease) -> Lease:
    """Of a run whose holder was not heard of for too long."""
    with closing(connect(address)) as db:
        db.execute("UPDATE overnight.run SET until=clock_timestamp()-interval '1 second'")
        held = Lease(address, lease.run)
        held.take(db)
    return held


def test_whoever_takes_a_run_over_ends_what_the_one_before_has_begun(address: Address, lease: Lease) -> None:
    with closing(_home(address, lease).writer()) as before:
        before.begin()
        before.execute("INSERT INTO fact VALUES('half', '1')")
        held = next_holder(address, lease)
        with closing(_home(address, held).writer()) as after:
            after.begin()
            after.execute("INSERT INTO fact VALUES('half', '2')")  # which would wait for the other one to end
            after.commit()
        with pytest.raises(errors.AdminShutdown):
            before.commit()
    held.let_go()


def test_who_was_replaced_finds_out_before_it_writes_and_leaves_the_next_one_alone(
    address: Address, lease: Lease
) -> None:
    with closing(Ledger(_home(address, lease))) as ledger:
        keep(ledger, "one")
        held = next_holder(address, lease)
        with closing(_home(address, held).writer()) as after:  # ends the other's connection
            after.begin()
            after.execute("INSERT INTO fact VALUES('two', '2')")
            with pytest.raises(LeaseLost, match="another process has taken it over"):
                keep(ledger, "two")
            after.commit()
            assert after.execute("SELECT value FROM fact WHERE name='two'").fetchone() == ("2",)
    held.let_go()


def test_a_lease_that_could_not_be_prolonged_is_prolonged_soon_after(
    address: Address, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not at the next quarter only, which may be the last before others may have the run."""
    monkeypatch.setattr(leases, "SECONDS", 8.0)
    with network_to(address, monkeypatch) as (through, network), closing(connect(address)) as db:
        db.execute("UPDATE overnight.run SET until=clock_timestamp()-interval '1 second'")
        held = Lease(through, lease.run)
        held.take(db)
        taken = held.sure_until
        with network.down():
            assert until(lambda: network.refused > 0)
        back = steady()
        assert until(lambda: held.sure_until > taken)
        assert steady() - back < 1.5
        held.let_go()


def until(so: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether it came to be so."""
    last = time.monotonic() + seconds
    while not so() and time.monotonic() < last:
        time.sleep(0.01)
    return so()


def test_a_commit_that_broke_is_not_taken_for_an_earlier_one_of_which_nobody_could_be_asked(
    address: Address, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = "INSERT INTO fact VALUES(?, '1')"
    with network_to(address, monkeypatch) as (through, network), closing(_home(through, lease).writer()) as db:
        db.begin()
        db.execute(add, ("landed",))
        with network.down(swallowing=True), pytest.raises(OutOfReach):
            db.commit()
        db.roll_back()
        db.begin()
        db.execute(add, ("broke",))
        with network.down():
            pass
        with pytest.raises(errors.OperationalError):
            db.commit()
    with closing(connect(address, schema=lease.run.schema)) as db:
        assert db.execute("SELECT name FROM fact").fetchall() == [("landed",)]


def test_a_transaction_whose_connection_breaks_is_taken_back_without_a_word(address: Address, lease: Lease) -> None:
    with closing(_home(address, lease).writer()) as db:
        db.begin()
        db.execute("INSERT INTO fact VALUES('half', '1')")
        _end_connections(address)
        db.roll_back()
        assert db.execute("SELECT value FROM fact WHERE name='half'").fetchone() is None


def test_a_queue_that_was_emptied_leaves_nothing_behind_to_be_read(address: Address, lease: Lease) -> None:
    """Else each look at it reads the room of all rows that were ever in it."""
    with closing(_home(address, lease).writer()) as db, closing(connect(address, schema=lease.run.schema)) as reader:

        def fill_and_empty() -> int:
            db.begin()
            db.execute("INSERT INTO queue SELECT n, 0, 0 FROM generate_series(1, 60000) AS n")
            db.commit()
            if looks:
                reader.begin_reading()
                assert reader.execute("SELECT count(*) FROM queue").fetchone() == (60_000,)
            db.begin()
            db.execute("DELETE FROM queue")
            db.commit()
            (size,) = db.execute("SELECT pg_relation_size('queue')").fetchone() or (0,)
            return int(size)

        looks = False
        assert fill_and_empty() == 0
        looks = True  # at one moment, which keeps its rows where they are
        assert fill_and_empty() > 0
        assert reader.execute("SELECT count(*) FROM queue").fetchone() == (60_000,)


def test_a_zero_byte_in_a_providers_words_is_replaced(ledger: Ledger) -> None:
    ledger.write("odd", lambda tx: tx.facts.keep("odd", "a\0b")).result()
    assert ledger.view().facts.get("odd") == "a\N{REPLACEMENT CHARACTER}b"


def _end_connections(address: Address) -> None:
    """As a server that is started anew does."""
    with closing(connect(address)) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname=current_database() AND pid<>pg_backend_pid()"
        ).fetchall()


def test_threads_that_share_a_connection_read_large_answers_at_the_same_time(ledger: Ledger) -> None:
    for number in range(20):
        keep(ledger, f"fact {number}")
    view, failed = ledger.view(), []

    def read() -> None:
        try:
            for _ in range(100):
                assert list(view.copies.wanted()) == []
                assert view.facts.get("fact 1") == "1"
        except BaseException as error:  # noqa: BLE001 - the test that waits is told
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@contextmanager
def network_to(address: Address, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Address, CuttableNetwork]]:
    """The same database by a network that can be cut."""
    with CuttableNetwork(socket_in(postgres_server.folder())) as network:
        database = address.url.partition("?")[0].rpartition("/")[2]
        monkeypatch.setenv(PORT, str(network.port))
        yield read_address(f"{postgres_server.url(database)}&files={address.files}"), network


@contextmanager
def cuttable(
    address: Address, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Ledger, CuttableNetwork]]:
    """A ledger, and the network on its way to the database."""
    with network_to(address, monkeypatch) as (through, network), closing(Ledger(_home(through, lease))) as ledger:
        yield ledger, network


def test_a_commit_that_landed_and_whose_answer_was_lost_is_gone_on_with(
    address: Address, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was told once is there once, whoever told it hears so, and the next fact goes by a new connection."""
    with cuttable(address, lease, monkeypatch) as (ledger, network):
        keep(ledger, "one")
        before = lease.commits
        network.swallow()
        ledger.write("two", lambda tx: tx.facts.keep("two", "1")).result(timeout=30)
        assert (network.cuts, lease.commits) == (1, before + 1)
        keep(ledger, "three")
        found = [ledger.view().facts.get(name) for name in ("one", "two", "three")]
    assert found == ["1", "1", "1"]


def test_a_server_that_does_not_come_back_is_out_of_reach_for_all_who_write(
    address: Address, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer does not end with it: the next fact finds its way, when there is one again."""
    with cuttable(address, lease, monkeypatch) as (ledger, network):
        keep(ledger, "one")
        with network.down(), pytest.raises(OutOfReach, match="cannot be reached"):
            keep(ledger, "two")
        keep(ledger, "three")
        found = [ledger.view().facts.get(name) for name in ("one", "two", "three")]
    assert found == ["1", None, "1"]


def test_whoever_looks_at_many_databases_does_not_use_up_the_servers_connections(address: Address) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname=current_database() AND application_name='overnight'"
    for number in range(20):
        db = looking(address._replace(url=f"{address.url}&tcp_user_timeout={30_000 + number}"))
    until = time.monotonic() + 20
    while (db.execute(query).fetchone() or (99,))[0] > 8 and time.monotonic() < until:
        time.sleep(0.1)  # the server hears of it a little later
    assert db.execute(query).fetchone() == (8,)
