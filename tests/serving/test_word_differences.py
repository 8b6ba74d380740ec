"""What is marked is what the other text does not have; nothing is lost or added."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from overnight.serving.word_differences import MOST_WORDS, Piece, pieces

TEXTS = st.lists(st.sampled_from(["a", "b", "c", " ", "\n", "<i>", "end."]), max_size=30).map("".join)


@given(TEXTS, TEXTS)
@example("aaaa b", "aaaa a b")
def test_the_pieces_are_the_text(text: str, other: str) -> None:
    found = pieces(text, other)
    assert found is not None
    assert "".join(piece.text for piece in found) == text
    assert all(one.different != next_one.different for one, next_one in pairwise(found))


@given(TEXTS)
def test_the_same_text_has_no_differences(text: str) -> None:
    assert not any(piece.different for piece in pieces(text, text) or [])


def test_words_and_the_spaces_between_them_are_marked_together() -> None:
    assert pieces("the old grey cat", "the young cat") == [
        Piece("the ", different=False),
        Piece("old grey", different=True),
        Piece(" cat", different=False),
    ]


def test_long_texts_are_not_compared() -> None:
    assert pieces("a " * (MOST_WORDS + 1), "b") is None
