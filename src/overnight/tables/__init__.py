"""Tables from facts and raw files: rebuilt at any time, offline, to the same bytes."""
