"""Who the run is, which stages and arms it has, and which accounts it was sent with."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable

import msgspec

from overnight.core.ask import Arm
from overnight.ledger.connection import Records

# There while the tables are those of the records.
_TABLES_MADE = "tables_made"


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


def fingerprint(run_id: str, key: str) -> str:
    """Tells two keys apart without saying anything about either."""
    return hmac.new(run_id.encode(), b"key:" + key.encode(), hashlib.sha256).hexdigest()[:12]


class RecordedStage(msgspec.Struct, frozen=True):
    """A stage on record. `spec` opens its task again; `settings` say where its items come from."""

    id: int
    name: str
    task: str
    version: str
    spec: str
    settings: str


class FactsView(Records):
    """What was said once of the run as a whole, by name."""

    def get(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM fact WHERE name=?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def tables_made(self) -> bool:
        """Whether `tables/` holds all that is on record: nobody has begun to work on the run since they were made."""
        return self.get(_TABLES_MADE) is not None

    def disowned(self) -> frozenset[str]:
        rows = self._db.execute("SELECT substr(name, 10) FROM fact WHERE name LIKE 'disowned:%'")
        return frozenset(str(row[0]) for row in rows)

    def called_off(self) -> dict[int, str]:
        """Why arms are not to be sent, by their number."""
        rows = self._db.execute("SELECT substr(name, 12), value FROM fact WHERE name LIKE 'called_off:%'")
        return {int(arm): str(why) for arm, why in rows}


class Facts(FactsView):
    """What is said of the run as a whole."""

    def keep(self, name: str, value: str) -> None:
        self._db.execute(
            "INSERT INTO fact VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value=excluded.value", (name, value)
        )

    def make_tables(self) -> None:
        """The tables were made of all that is on record."""
        self.keep(_TABLES_MADE, "1")

    def outdate_tables(self) -> None:
        """Somebody begins to work on the run: from here on the records may be ahead of the tables."""
        self._db.execute("DELETE FROM fact WHERE name=?", (_TABLES_MADE,))

    def disown(self, batches: Iterable[str]) -> None:
        """The user says that batches of this run, by id or name, are not to count: their rows may be asked again."""
        for one in batches:
            self.keep(f"disowned:{one}", "1")

    def call_off(self, arm: int, why: str) -> None:
        """Somebody has cancelled a batch of this arm: its rows wait until the user says `run`."""
        self.keep(f"called_off:{arm}", why)

    def call_on(self) -> None:
        """The user says `run`: nothing is called off any more."""
        self._db.execute("DELETE FROM fact WHERE name LIKE 'called_off:%'")

    def begin_run(self, at: float) -> str:
        """The run's own id: made once, the secret behind its tokens and fingerprints."""
        known = self.get("run_id")
        if known is not None:
            return known
        run_id = secrets.token_hex(16)
        self.keep("run_id", run_id)
        self.keep("begun_at", repr(at))
        return run_id


class StagesView(Records):
    """The stages and their arms, as the study had them."""

    def arms(self) -> dict[int, Arm]:
        rows = self._db.execute("SELECT id, definition FROM arm ORDER BY id")
        return {int(number): msgspec.json.decode(definition, type=Arm) for number, definition in rows}

    def everything(self) -> list[RecordedStage]:
        """In the study's order."""
        rows = self._db.execute("SELECT id, name, task, version, spec, settings FROM stage ORDER BY id")
        return [RecordedStage(*row) for row in rows]

    def task_of(self, stage: str) -> str:
        """By the stage's name; nothing where there is no such stage."""
        row = self._db.execute("SELECT task FROM stage WHERE name=?", (stage,)).fetchone()
        return "" if row is None else str(row[0])


class Stages(StagesView):
    """Stages and arms that are put on record."""

    def keep(self, name: str, task: str, version: str) -> int:
        self._db.execute(
            "INSERT INTO stage(name, task, version) VALUES(?,?,?) ON CONFLICT DO NOTHING", (name, task, version)
        )
        return int(self._db.execute("SELECT id FROM stage WHERE name=?", (name,)).fetchone()[0])

    def describe(self, number: int, spec: str, settings: str) -> None:
        self._db.execute("UPDATE stage SET spec=?, settings=? WHERE id=?", (spec, settings, number))

    def keep_arm(self, stage: int, arm: Arm) -> int:
        """The arm's number. Its definition follows the study: the key's variable may change between runs."""
        definition = msgspec.json.encode(arm).decode()
        self._db.execute(
            "INSERT INTO arm(stage, name, definition) VALUES(?,?,?) "
            "ON CONFLICT(stage, name) DO UPDATE SET definition=excluded.definition",
            (stage, arm.name, definition),
        )
        return int(self._db.execute("SELECT id FROM arm WHERE stage=? AND name=?", (stage, arm.name)).fetchone()[0])


class AccountsView(Records):
    """The accounts that the run was sent with."""

    def everything(self) -> dict[int, Account]:
        rows = self._db.execute("SELECT id, provider, place, organization, project, fingerprint FROM account")
        return {
            int(number): Account(provider=p, place=b, organization=o, project=j, fingerprint=f)
            for number, p, b, o, j, f in rows
        }

    def root(self, number: int) -> int:
        row = self._db.execute("SELECT same_as FROM account WHERE id=?", (number,)).fetchone()
        return number if row is None or row[0] is None else int(row[0])


class Accounts(AccountsView):
    """Accounts that are put on record, and which of them are the same."""

    def keep(self, account: Account) -> int:
        values = msgspec.structs.astuple(account)
        self._db.execute(
            "INSERT INTO account(provider, place, organization, project, fingerprint) VALUES(?,?,?,?,?) "
            "ON CONFLICT DO NOTHING",
            values,
        )
        row = self._db.execute(
            "SELECT id FROM account WHERE provider=? AND place=? AND organization=? AND project=? AND fingerprint=?",
            values,
        ).fetchone()
        return int(row[0])

    def take_as_same(self, new: int, old: int) -> None:
        """It was shown, or the user said, that `new` speaks for the account that `old` spoke for."""
        self._db.execute("UPDATE account SET same_as=? WHERE id=?", (self.root(old), new))
