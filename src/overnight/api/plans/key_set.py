"""Keys that were seen, by the million."""

# What is held of a key: enough that no two of a study's are alike in it. Its first bytes say where the others are held.
_HELD, _START = 10, 2
_REST = _HELD - _START


class KeySet:
    """Keys of questions, in some 20 bytes each: as objects in a set, they would take five times as much."""

    def __init__(self) -> None:
        self._by_start: dict[bytes, bytearray] = {}

    def add(self, key: bytes) -> bool:
        """Whether it is new."""
        start, rest = key[:_START], key[_START:_HELD]
        held = self._by_start.get(start)
        if held is None:
            self._by_start[start] = bytearray(rest)
            return True
        place = held.find(rest)
        # It may also be found where one key ends and the next one begins.
        while place > 0 and place % _REST:
            place = held.find(rest, place + 1)
        if place < 0:
            held += rest
        return place < 0
