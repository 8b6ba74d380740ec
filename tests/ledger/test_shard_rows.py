"""A shard as the ledger hands it out: its rows by line."""

from overnight.ledger.shards import ShardRow, ShardRows


def test_the_rows_of_a_shard_are_a_sequence_in_little_memory() -> None:
    told = [(10 * line, line % 3, 1_000 + line) for line in range(12_000)]
    rows = ShardRows(iter(told))
    assert (len(rows), rows[-1], rows[5:7]) == (12_000, ShardRow(*told[-1]), [ShardRow(*one) for one in told[5:7]])
    assert list(rows) == [ShardRow(*one) for one in told]
    held = sum(len(column) * column.itemsize for column in (rows.asks, rows.tries, rows.lengths))
    assert held == 24 * len(rows)
    assert not ShardRows([])
