"""Reservations and spending on record: what was set aside when a shard was made, and what it came to."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from overnight.core.money import Balance
from overnight.ledger.connection import Records

# Sums stay below what SQLite can hold, whatever amounts are handed in: a bill beyond that is no bill.
_MOST = 2**62
# Sums of a column in floating point never overflow, and are exact up to nine million dollars.
_SUM = "CAST(total({}) AS BIGINT)"


class Charge(NamedTuple):
    """Landed rows: what they cost, what was set aside for them, and, by line, what of that was billed unseen."""

    settled: int
    released: int
    presumed: Sequence[tuple[int, int]] = ()


class WrongSum(NamedTuple):
    """A running sum beside what the rows on record come to, in nano-dollars."""

    arm: int
    what: str
    kept: int
    rows: int


class SpendingView(Records):
    """What is set aside, and what was spent."""

    def density(self, shard: int) -> float:
        row = self._db.execute("SELECT density FROM reservation WHERE shard=?", (shard,)).fetchone()
        return 0.0 if row is None else float(row[0])

    def by_arm(self) -> dict[int, Balance]:
        """By arm."""
        rows = self._db.execute("SELECT arm, settled, presumed FROM spent")
        spent = {arm: (settled, presumed) for arm, settled, presumed in rows}
        held = dict(
            self._db.execute(
                f"SELECT shard.arm, {_SUM.format('coalesce(amount, 0) - released')} FROM reservation "
                "JOIN shard ON shard.id=reservation.shard GROUP BY shard.arm"
            )
        )
        return {
            arm: Balance(
                settled=spent.get(arm, (0, 0))[0], presumed=spent.get(arm, (0, 0))[1], reserved=held.get(arm, 0)
            )
            for arm in {*spent, *held}
        }

    def by_stage(self) -> dict[str, Balance]:
        """By stage name."""
        stages = dict(self._db.execute("SELECT arm.id, stage.name FROM arm JOIN stage ON stage.id=arm.stage"))
        found: dict[str, Balance] = {}
        for arm, balance in self.by_arm().items():
            before = found.get(stages[arm], Balance())
            found[stages[arm]] = Balance(
                settled=before.settled + balance.settled,
                reserved=before.reserved + balance.reserved,
                presumed=before.presumed + balance.presumed,
            )
        return found

    def unbounded(self) -> dict[int, int]:
        """By arm: rows that further batches have run, and of which nobody can say the most that they can have cost."""
        rows = self._db.execute(
            "SELECT shard.arm, count(*) FROM presumption JOIN attempt ON attempt.id=presumption.attempt "
            "JOIN shard ON shard.id=attempt.shard JOIN shard_row ON shard_row.shard=shard.id "
            "WHERE presumption.line<0 AND presumption.amount=0 GROUP BY shard.arm"
        )
        return dict(rows)

    def live_commitment(self, arms: Iterable[int]) -> int:
        """What the live calls of these arms have cost, and may still cost."""
        marks = ",".join(str(int(arm)) for arm in arms) or "NULL"
        (settled,) = self._db.execute(
            f"SELECT {_SUM.format('cost')} FROM result JOIN attempt ON attempt.id=result.attempt "
            f"JOIN shard ON shard.id=attempt.shard WHERE shard.live<>0 AND shard.arm IN ({marks})"
        ).fetchone()
        (reserved,) = self._db.execute(
            f"SELECT {_SUM.format('coalesce(amount, 0) - released')} FROM reservation "
            f"JOIN shard ON shard.id=reservation.shard WHERE shard.live<>0 AND shard.arm IN ({marks})"
        ).fetchone()
        return int(settled) + int(reserved)

    def prices(self) -> dict[tuple[int, str], str]:
        """By arm and processing."""
        rows = self._db.execute("SELECT arm, processing, price FROM price ORDER BY arm, processing")
        return {(int(arm), str(processing)): str(price) for arm, processing, price in rows}

    def processings(self) -> dict[int, list[str]]:
        """By arm: how its shards were, or are to be, asked."""
        found: dict[int, list[str]] = {}
        for arm, live in self._db.execute("SELECT DISTINCT arm, live FROM shard ORDER BY arm, live"):
            found.setdefault(int(arm), []).append(processing_of(live=bool(live)))
        return found

    def wrong_sums(self) -> Iterator[WrongSum]:
        """Sums of an arm that are not those of its rows, and reservations that are no longer, or cannot be, held so."""
        cost = (
            f"SELECT ask.arm AS arm, {_SUM.format('cost')} AS amount FROM result "
            "JOIN ask ON ask.id=result.ask GROUP BY 1"
        )
        presumed = (
            f"SELECT shard.arm AS arm, {_SUM.format('amount')} AS amount FROM presumption "
            "JOIN attempt ON attempt.id=presumption.attempt JOIN shard ON shard.id=attempt.shard GROUP BY 1"
        )
        for what, column, rows in (("spent", "settled", cost), ("presumed spent", "presumed", presumed)):
            query = (
                f"SELECT arm.id, coalesce(spent.{column}, 0), min(coalesce(told.amount, 0), {_MOST}) "
                f"FROM arm LEFT JOIN spent ON spent.arm=arm.id LEFT JOIN ({rows}) AS told ON told.arm=arm.id "
                f"WHERE coalesce(spent.{column}, 0)<>min(coalesce(told.amount, 0), {_MOST}) ORDER BY arm.id"
            )
            yield from (WrongSum(arm, what, kept, told) for arm, kept, told in self._db.execute(query))

    def strange_reservations(self, open_shards: Collection[int]) -> list[int]:
        """Shards of which less than nothing is set aside, or something although none of their rows is under way."""
        rows = self._db.execute(
            "SELECT shard, coalesce(amount, 0) - released, released, shard IN (SELECT shard FROM shard_done) "
            "FROM reservation ORDER BY shard"
        )
        return [
            int(shard)
            for shard, held, released, done in rows
            if held < 0 or released < 0 or (held and done and shard not in open_shards)
        ]

    def ceilings(self) -> dict[int, int | None]:
        """By arm: what all its shards together might have cost, as it was set aside; None where nobody could say."""
        rows = self._db.execute(
            f"SELECT shard.arm, CASE WHEN count(*) = count(amount) THEN {_SUM.format('amount')} END FROM reservation "
            "JOIN shard ON shard.id=reservation.shard GROUP BY shard.arm"
        )
        return dict(rows)


class Spending(SpendingView):
    """Money that is set aside, spent, and let go."""

    def reserve(self, shard: int, amount: int | None, density: float) -> None:
        """Set the shard's ceiling aside. `density` is how its input was measured: rows are released alike."""
        self._db.execute(
            "INSERT INTO reservation VALUES(?,?,0,?)", (shard, None if amount is None else min(amount, _MOST), density)
        )

    def book(self, shard: int, arm: int, attempt: int, charge: Charge) -> None:
        """Settle what landed rows cost, and let go of what was set aside for them, in one step."""
        self._db.execute(
            "UPDATE reservation SET released=min(coalesce(amount, 0)-?1, released)+?1 WHERE shard=?2",
            (min(charge.released, _MOST), shard),
        )
        self.settle(arm, charge.settled)
        if charge.presumed:
            self.presume(arm, attempt, charge.presumed)

    def presume(self, arm: int, attempt: int, rows: Sequence[tuple[int, int]]) -> None:
        """Rows of an attempt, by line, that were run as far as anybody can tell, and what each may have cost."""
        held = [(attempt, line, min(amount, _MOST)) for line, amount in rows]
        self._db.executemany("INSERT INTO presumption VALUES(?,?,?)", held)
        self.settle(arm, 0, sum(amount for _, _, amount in held))

    def presume_whole(self, shard: int, arm: int, attempt: int, batches: int) -> None:
        """So many more batches of an attempt have run its rows, and nobody will read their bills: a sum for each."""
        row = self._db.execute("SELECT amount FROM reservation WHERE shard=?", (shard,)).fetchone()
        most = 0 if row is None else row[0] or 0
        self.presume(arm, attempt, [(-number, most) for number in range(1, batches + 1)])

    def take_back(self, arm: int, attempt: int, lines: Iterable[int]) -> None:
        """These rows are not presumed spent any more: their bill is still to come."""
        self._db.executemany("DELETE FROM presumption WHERE attempt=? AND line=?", ((attempt, line) for line in lines))
        self._count_presumed(arm)

    def _count_presumed(self, arm: int) -> None:
        self._db.execute(
            f"UPDATE spent SET presumed=(SELECT min({_SUM.format('amount')}, {_MOST}) FROM presumption "
            "JOIN attempt ON attempt.id=presumption.attempt JOIN shard ON shard.id=attempt.shard WHERE shard.arm=?1) "
            "WHERE arm=?1",
            (arm,),
        )

    def release(self, shard: int) -> None:
        self._db.execute("UPDATE reservation SET released=coalesce(amount, 0) WHERE shard=?", (shard,))

    def hold_again(self, shard: int, amount: int) -> None:
        """Rows of a shard that was over are under way again: so much is set aside for them."""
        self._db.execute(
            "UPDATE reservation SET released=max(0, coalesce(amount, 0)-?) WHERE shard=?", (min(amount, _MOST), shard)
        )

    def settle(self, arm: int, cost: int, presumed: int = 0) -> None:
        """What rows of an arm really cost."""
        if cost or presumed:
            self._db.execute(
                "INSERT INTO spent VALUES(?,?,?) ON CONFLICT(arm) DO UPDATE SET "
                # Never more than that, and no sum on the way to it is too large either.
                f"settled=min(spent.settled, {_MOST}-excluded.settled)+excluded.settled, "
                f"presumed=min(spent.presumed, {_MOST}-excluded.presumed)+excluded.presumed",
                (arm, min(cost, _MOST), min(presumed, _MOST)),
            )

    def keep_price(self, arm: int, processing: str, price: str) -> None:
        """The price an arm's rows are settled with, in a batch or live, as it was when they were first planned."""
        self._db.execute("INSERT INTO price VALUES(?,?,?) ON CONFLICT DO NOTHING", (arm, processing, price))

    def replace_price(self, arm: int, processing: str, price: str) -> None:
        self._db.execute(
            "INSERT INTO price VALUES(?,?,?) ON CONFLICT(arm, processing) DO UPDATE SET price=excluded.price",
            (arm, processing, price),
        )

    def recount(self) -> None:
        """Count the bill again from the rows: after they were read or priced anew."""
        self._db.execute(
            "DELETE FROM presumption WHERE EXISTS (SELECT 1 FROM result WHERE result.attempt=presumption.attempt "
            "AND result.line=presumption.line AND result.cost IS NOT NULL)"
        )
        self._db.execute("UPDATE spent SET settled=0")
        self._db.execute(
            f"INSERT INTO spent SELECT ask.arm, {_SUM.format('result.cost')}, 0 FROM result "
            "JOIN ask ON ask.id=result.ask GROUP BY ask.arm ON CONFLICT(arm) DO UPDATE SET settled=excluded.settled"
        )
        for (arm,) in self._db.execute("SELECT arm FROM spent").fetchall():
            self._count_presumed(arm)


def processing_of(*, live: bool) -> str:
    return "live" if live else "batch"
