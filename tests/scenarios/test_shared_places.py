"""Runs in a database with their files in a bucket: the same verbs, the same bytes, and no password or key anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import overnight as on
import own_database
import postgres_server
from overnight.cli import main
from scenarios.conftest import KEY, Scenario
from store import buckets

PASSWORD = "hunter2-not-for-you"


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
    secrets = (PASSWORD, KEY, buckets.SECRET)
    assert [secret for secret in secrets if secret in told] == []
    _assert_nowhere(one.folder, secrets)


def _assert_nowhere(folder: Path, secrets: tuple[str, ...]) -> None:
    """Not in a file of this machine, and not in any table of the database."""
    found = [
        path
        for path in folder.rglob("*")
        if path.is_file() and any(one.encode() in path.read_bytes() for one in secrets)
    ]
    assert [path for path in found if "state" not in path.parts] == []
    name = own_database.address_of(folder / "shared").partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres_server.url(name)) as db:
        tables = db.execute("SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'overnight%'").fetchall()
        assert len(tables) > 20
        for schema, table in tables:
            rows = str(db.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall())  # type: ignore[arg-type]
            assert [secret for secret in secrets if secret in rows] == []
