"""Which words of a text another text does not have in their place."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

# Longer texts are shown without marks: comparing them word by word takes too long to wait for.
MOST_WORDS = 2_500
_WORDS = re.compile(r"\S+|\s+")


class Piece(NamedTuple):
    text: str
    different: bool


def pieces(text: str, other: str) -> list[Piece] | None:
    """The text in pieces that are the same in the other, and that are not; None where it is too long to say."""
    own, others = _WORDS.findall(text), _WORDS.findall(other)
    if len(own) > MOST_WORDS or len(others) > MOST_WORDS:
        return None
    found: list[Piece] = []
    at = 0
    for begin, _, length in SequenceMatcher(None, own, others, autojunk=False).get_matching_blocks():
        if begin > at:
            found.append(Piece("".join(own[at:begin]), different=True))
        if length:
            found.append(Piece("".join(own[begin : begin + length]), different=False))
        at = begin + length
    return _joined(found)


def _joined(found: Sequence[Piece]) -> list[Piece]:
    """A space between two words that differ differs too, and neighbours of one kind are one piece.

    Two neighbours can both be the same in the other text: where that has more words between them.
    """
    marked = [
        Piece(
            piece.text, piece.different or (0 < place < len(found) - 1 and _space_within(found[place - 1 : place + 2]))
        )
        for place, piece in enumerate(found)
    ]
    return [
        Piece("".join(piece.text for piece in alike), different=different)
        for different, alike in groupby(marked, key=lambda piece: piece.different)
    ]


def _space_within(three: Sequence[Piece]) -> bool:
    before, piece, after = three
    return before.different and after.different and not piece.text.strip()
