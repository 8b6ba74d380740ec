"""Numbers of things as one says them."""


def number_of(count: int, one: str, many: str | None = None) -> str:
    """`1 batch`, `3 batches`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
