"""Who the run is, which stages and arms it has, and which accounts it was sent with."""

import hashlib
import hmac
import secrets
import sqlite3

import msgspec

from overnight.core.ask import Arm


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Where batches were sent, and a fingerprint of the key that only this run can compute."""

    provider: str
    place: str
    organization: str = ""
    project: str = ""
    fingerprint: str = ""

    def differs_from(self, other: "Account") -> list[str]:
        """What is different, in the user's words."""
        words = {
            "place": "address",
            "organization": "organisation",
            "project": "project",
            "fingerprint": "API key",
        }
        return [word for field, word in words.items() if getattr(self, field) != getattr(other, field)]


def get_fact(db: sqlite3.Connection, name: str) -> str | None:
    row = db.execute("SELECT value FROM fact WHERE name=?", (name,)).fetchone()
    return None if row is None else str(row[0])


def set_fact(db: sqlite3.Connection, name: str, value: str) -> None:
    db.execute("INSERT INTO fact VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value=excluded.value", (name, value))


def disown(db: sqlite3.Connection, batch_id: str) -> None:
    """The user says that a batch of this run is not to count: its rows may be asked again."""
    set_fact(db, f"disowned:{batch_id}", "1")


def disowned(db: sqlite3.Connection) -> frozenset[str]:
    rows = db.execute("SELECT substr(name, 10) FROM fact WHERE name LIKE 'disowned:%'")
    return frozenset(str(row[0]) for row in rows)


def call_off(db: sqlite3.Connection, arm: int, why: str) -> None:
    """Somebody has cancelled a batch of this arm: its rows wait until the user says `run`."""
    set_fact(db, f"called_off:{arm}", why)


def called_off(db: sqlite3.Connection) -> dict[int, str]:
    """Why arms are not to be sent, by their number."""
    rows = db.execute("SELECT substr(name, 12), value FROM fact WHERE name LIKE 'called_off:%'")
    return {int(arm): str(why) for arm, why in rows}


def call_on(db: sqlite3.Connection) -> None:
    """The user says `run`: nothing is called off any more."""
    db.execute("DELETE FROM fact WHERE name LIKE 'called_off:%'")


def begin_run(db: sqlite3.Connection, at: float) -> str:
    """The run's own id: made once, the secret behind its tokens and fingerprints."""
    known = get_fact(db, "run_id")
    if known is not None:
        return known
    run_id = secrets.token_hex(16)
    set_fact(db, "run_id", run_id)
    set_fact(db, "begun_at", repr(at))
    return run_id


def fingerprint(run_id: str, key: str) -> str:
    """Tells two keys apart without saying anything about either."""
    return hmac.new(run_id.encode(), b"key:" + key.encode(), hashlib.sha256).hexdigest()[:12]


class StageRow(msgspec.Struct, frozen=True):
    """A stage on record. `spec` opens its task again; `settings` say where its items come from."""

    id: int
    name: str
    task: str
    version: str
    spec: str
    settings: str


def stage_id(db: sqlite3.Connection, name: str, task: str, version: str) -> int:
    db.execute("INSERT OR IGNORE INTO stage(name, task, version) VALUES(?,?,?)", (name, task, version))
    return int(db.execute("SELECT id FROM stage WHERE name=?", (name,)).fetchone()[0])


def describe_stage(db: sqlite3.Connection, number: int, spec: str, settings: str) -> None:
    db.execute("UPDATE stage SET spec=?, settings=? WHERE id=?", (spec, settings, number))


def arm_id(db: sqlite3.Connection, stage: int, arm: Arm) -> int:
    """The arm's number. Its definition follows the study: the key's variable may change between runs."""
    definition = msgspec.json.encode(arm).decode()
    db.execute(
        "INSERT INTO arm(stage, name, definition) VALUES(?,?,?) "
        "ON CONFLICT(stage, name) DO UPDATE SET definition=excluded.definition",
        (stage, arm.name, definition),
    )
    return int(db.execute("SELECT id FROM arm WHERE stage=? AND name=?", (stage, arm.name)).fetchone()[0])


def arms(db: sqlite3.Connection) -> dict[int, Arm]:
    rows = db.execute("SELECT id, definition FROM arm ORDER BY id")
    return {int(number): msgspec.json.decode(definition, type=Arm) for number, definition in rows}


def stages(db: sqlite3.Connection) -> list[StageRow]:
    """In the study's order."""
    rows = db.execute("SELECT id, name, task, version, spec, settings FROM stage ORDER BY id")
    return [StageRow(*row) for row in rows]


def account_id(db: sqlite3.Connection, account: Account) -> int:
    values = msgspec.structs.astuple(account)
    db.execute(
        "INSERT OR IGNORE INTO account(provider, place, organization, project, fingerprint) VALUES(?,?,?,?,?)",
        values,
    )
    row = db.execute(
        "SELECT id FROM account WHERE provider=? AND place=? AND organization=? AND project=? AND fingerprint=?",
        values,
    ).fetchone()
    return int(row[0])


def accounts(db: sqlite3.Connection) -> dict[int, Account]:
    rows = db.execute("SELECT id, provider, place, organization, project, fingerprint FROM account")
    return {
        int(number): Account(provider=p, place=b, organization=o, project=j, fingerprint=f)
        for number, p, b, o, j, f in rows
    }


def same_account(db: sqlite3.Connection, new: int, old: int) -> None:
    """It was shown, or the user said, that `new` speaks for the account that `old` spoke for."""
    db.execute("UPDATE account SET same_as=? WHERE id=?", (account_root(db, old), new))


def account_root(db: sqlite3.Connection, number: int) -> int:
    row = db.execute("SELECT same_as FROM account WHERE id=?", (number,)).fetchone()
    return number if row is None or row[0] is None else int(row[0])
