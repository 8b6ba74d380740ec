"""Runs in a database with their files in a bucket: the same verbs, the same bytes, and no password or key anywhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote, unquote

import polars as pl
import psycopg
import pytest
from psycopg.errors import DuplicateObject

import overnight as on
import own_database
import postgres_server
from overnight.api import team
from overnight.cli import main
from overnight.core.errors import LedgerError
from scenarios import left_behind
from scenarios.conftest import KEY, Scenario
from store import buckets

PASSWORD = "hunter2-not-for-you"
SECRETS = (PASSWORD, KEY, buckets.SECRET)


@pytest.fixture
def in_bucket(scenario: Callable[..., Scenario], monkeypatch: pytest.MonkeyPatch) -> tuple[Scenario, str]:
    one = scenario(truth={"latency": {"batch": [1, 2], "live": [0, 0]}})
    keys = buckets.environment(buckets.server())
    keys["AWS_ENDPOINT_URL_S3"] = keys["AWS_ENDPOINT_URL"]
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    one.environ |= keys
    place = own_database.address_of(one.folder / "shared").partition("&files=")[0]
    files, local = quote(buckets.fresh_url(), safe=":/"), quote(str(one.folder / "local"))
    return one, f"{place}&password={PASSWORD}&files={files}&local={local}"


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_a_run_with_its_files_in_a_bucket_is_the_same_run(
    in_bucket: tuple[Scenario, str], mode: str, capfd: pytest.CaptureFixture[str]
) -> None:
    one, place = in_bucket
    study = one.study(mode=mode)
    assert one.run(study).state == "done"
    expected = one.table_digest()
    ending = one.call("run", study, runs=place, as_name="shared")
    assert ending.state == "done", ending
    table = one.folder / "local" / "shared" / "tables" / "results.parquet"
    assert one.digest_of(table) == expected
    assert on.verify("shared", runs=place) == []
    assert main(["status", "shared", "--runs", place]) == 0
    assert main(["report", "shared", "--runs", place]) == 0
    told = "".join(capfd.readouterr())
    assert "shared" in told
    assert [secret for secret in SECRETS if secret in told] == []
    assert found(one, place) == []


# In errors of every kind, and in the rows themselves.
ECHOES = (
    {"on": "create", "do": "status", "status": 400, "code": "invalid", "message": "no luck with {key}", "times": 1},
    {"on": "list", "do": "status", "status": 503, "message": "{key} is asked too often", "times": 1},
    {"on": "live", "do": "status", "status": 400, "message": "{key} cannot ask that", "times": 3},
    {"on": "live", "do": "status", "status": 429, "message": "{key} is asked too often", "times": 3, "skip": 3},
    {"on": "content", "do": "echo_key"},
    {"on": "live", "do": "echo_key", "skip": 6},
)


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_a_key_that_the_provider_repeats_is_left_nowhere(
    in_bucket: tuple[Scenario, str], mode: str, capfd: pytest.CaptureFixture[str]
) -> None:
    one, place = in_bucket
    one.emulator.arm(ECHOES)
    ending = one.call("run", one.study(mode=mode), runs=place)
    assert ending.error is None, ending
    assert any("repeated the key" in text for text in ending.said), ending.said
    assert main(["results", "night", "--failed", "--runs", place]) == 0
    assert main(["report", "night", "--runs", place]) == 0
    told = [*capfd.readouterr(), *ending.said, ending.message]
    assert [secret for secret in SECRETS if secret in "".join(told)] == []
    assert found(one, place) == []


def test_what_was_left_would_be_found(in_bucket: tuple[Scenario, str]) -> None:
    """The search itself: a key that a study says is in tables and objects, and one may hide in what is compressed."""
    one, place = in_bucket
    study = one.study(2, prompt=f"Say {KEY} about {{text}}.")
    assert one.call("run", study, runs=place).error is None
    pl.DataFrame({"text": [KEY] * 100}).write_parquet(one.folder / "left.parquet")
    with psycopg.connect(postgres_server.url(database(one)), autocommit=True) as db:
        db.execute("CREATE TABLE overnight.left_there AS SELECT %s::bytea AS text", (KEY.encode(),))
    places = {name.rpartition("/")[2] for name in found(one, place)}
    assert places >= {"night.yaml", "left.parquet", "00001.jsonl", "overnight.left_there", "overnight_run_1.stage"}


@pytest.mark.parametrize("verb", ["status", "verify", "costs", "results", "team", "run"])
def test_a_database_that_lets_its_user_do_too_little_says_so_in_a_line(
    in_database: Callable[..., Scenario], verb: str
) -> None:
    one = in_database()
    place = own_database.address_of(one.folder / "runs")
    assert one.run(one.study()).state == "done"
    with psycopg.connect(postgres_server.url(database(one, "runs")), autocommit=True) as db, suppress(DuplicateObject):
        db.execute("CREATE ROLE guest LOGIN")
    theirs = place.replace("postgres@", "guest@")
    verbs = {"team": team, "run": lambda runs: on.run(one.study(), runs=runs, emulate=True)}
    say = verbs.get(verb) or (lambda runs: getattr(on, verb)("night", runs=runs))
    with pytest.raises(LedgerError, match="has not the rights for this: permission denied for schema") as told:
        say(runs=theirs)
    assert "\n" not in str(told.value)


def database(one: Scenario, runs: str = "shared") -> str:
    return own_database.address_of(one.folder / runs).partition("?")[0].rpartition("/")[2]


def found(one: Scenario, place: str) -> list[str]:
    bucket = unquote(place.partition("&files=")[2].partition("&")[0])
    return [
        *left_behind.in_files(SECRETS, [one.folder]),
        *left_behind.in_database(SECRETS, database(one)),
        *left_behind.in_bucket(SECRETS, bucket),
    ]
