"""What has been asked, by its key: how questions that were asked before are told from new ones.

A key is a hash. In one tree of all keys each new one would have a place of its own, and a million of them would have a
page of the disk read and written for each. So `asked` has nearly all keys, in order, and `asked_lately` those that came
since then: these stay in memory, and are put in order all together once they are many. A new question costs about the
same however many there are.
"""

from collections.abc import Iterable, Iterator

from overnight.ledger.connection import Records
from overnight.ledger.database import found_among
from overnight.ledger.identity import Facts, FactsView

KEY_TABLES = ("asked", "asked_lately")
# The highest number of a question whose key is in order.
_IN_ORDER = "keys_in_order"
# Keys that are put in order together: this part of those that are, so that each of these is moved once for so many new
# ones, whatever the run has come to; but enough to be worth it, and no more than the cache has room for.
_PART = 8
_FEWEST = 50_000
_MOST = 250_000

# Questions that ask what an earlier one does, and the first that does: of many new ones, in one reading of the keys.
_TWINS_OF_MANY = (
    "SELECT asked.ask AS id, first.ask AS first FROM (SELECT key, min(ask) AS ask FROM asked GROUP BY key "
    "HAVING count(*) > 1) AS first CROSS JOIN asked ON asked.key=first.key WHERE asked.ask > max(first.ask, {after})"
)
# Of a few, by a look for each of them: whatever is in order came before all that is not.
_TWINS_OF_FEW = (
    "SELECT id, first FROM (SELECT new.id AS id, coalesce((SELECT min(asked.ask) FROM asked WHERE asked.key=new.key), "
    "(SELECT min(lately.ask) FROM asked_lately AS lately WHERE lately.key=new.key AND lately.ask < new.id)) AS first "
    "FROM (SELECT id, key FROM ask WHERE id > {after} ORDER BY key) AS new) AS found WHERE first IS NOT NULL"
)


class KeysView(Records):
    """The questions that a key is of."""

    def asks(self, keys: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
        """(key, question) of those of these keys that were asked."""
        wanted = list(keys)
        for table in KEY_TABLES:
            query = f"SELECT key, ask FROM {table} WHERE key IN ({{}})"
            for key, ask in found_among(self._db, query, wanted):
                yield bytes(key), int(ask)


class Keys(KeysView):
    """Keys of questions as they come."""

    def share_twins(self, after: int, last: int) -> int:
        """Addresses that ask the same question point to the first of them; the others' rows go, and are counted.

        New are the questions with higher numbers than `after`, up to the `last`.
        """
        if last == after:
            return 0
        twins = self._take_in(after, last)
        self._db.execute(f"CREATE TEMP TABLE twin AS {twins.format(after=after)}")
        count = int(self._db.execute("SELECT count(*) FROM twin").fetchone()[0])
        if count:
            self._db.execute("CREATE INDEX twin_id ON twin(id)")
            self._db.execute(
                "UPDATE slot SET ask=(SELECT first FROM twin WHERE twin.id=slot.ask) WHERE ask IN (SELECT id FROM twin)"
            )
            for table in KEY_TABLES:
                these = "SELECT ask.key, ask.id FROM twin JOIN ask ON ask.id=twin.id"
                self._db.execute(f"DELETE FROM {table} WHERE (key, ask) IN ({these})")
            self._db.execute("DELETE FROM ask WHERE id IN (SELECT id FROM twin)")
        self._db.execute("DROP TABLE twin")
        return count

    def _take_in(self, after: int, last: int) -> str:
        """Put the new keys with the others; returns the query for their twins."""
        in_order = int(FactsView(self._db).get(_IN_ORDER) or "0")
        enough = min(max(_FEWEST, in_order // _PART), _MOST)
        many = last - after >= enough
        if many or last - in_order >= enough:
            self._db.execute("INSERT INTO asked SELECT key, ask FROM asked_lately ORDER BY key, ask")
            self._db.execute("DELETE FROM asked_lately")
            Facts(self._db).keep(_IN_ORDER, str(last if many else after))
        table, twins = ("asked", _TWINS_OF_MANY) if many else ("asked_lately", _TWINS_OF_FEW)
        self._db.execute(f"INSERT INTO {table} SELECT key, id FROM ask WHERE id>? ORDER BY key, id", (after,))
        return twins
