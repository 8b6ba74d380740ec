from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from overnight.core.arguments import checked
from overnight.core.errors import StudyError, WrongArgument


@checked
def ask(
    name: str,
    *,
    limit: int | None = None,
    share: float = 0.5,
    mode: Literal["batch", "live"] = "batch",
    place: str | Path = ".",
    columns: Sequence[str] = (),
    own: Mapping[str, int] | None = None,
    loud: bool = False,
    say: Callable[[str], None] = print,
    data: Any = None,
) -> str:
    """Ask."""
    return name


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": 3}, "ask: name: wanted text, found the number 3"),
        ({"name": "\ud800"}, r"ask: name: the text '\ud800' has half a character (a lone surrogate) in it"),
        ({"limit": "3"}, "ask: limit: wanted a whole number or None, found the text '3'"),
        ({"limit": 2.0}, "ask: limit: wanted a whole number or None, found the number 2.0"),
        ({"limit": True}, "ask: limit: wanted a whole number or None, found true"),
        (
            {"limit": 2**63},
            (
                "ask: limit: wanted a whole number or None, found the number 9223372036854775808, "
                "which does not fit into 64 bits"
            ),
        ),
        ({"share": None}, "ask: share: wanted a number, found nothing"),
        ({"share": float("nan")}, "ask: share: wanted a number, found the number nan, which is no finite one"),
        ({"share": Decimal(1)}, "ask: share: wanted a number, found a Decimal"),
        ({"mode": "lve"}, "ask: mode: wanted 'batch', 'live', found the text 'lve'"),
        ({"mode": ["live"]}, "ask: mode: wanted 'batch', 'live', found a list"),
        ({"place": b"x"}, "ask: place: wanted text or a path, found a bytes"),
        ({"place": "a\0b"}, r"ask: place: the text 'a\x00b' cannot be the name of a file"),
        ({"place": "x" * 300}, f"ask: place: the text '{'x' * 40}...' cannot be the name of a file"),
        ({"columns": "abc"}, "ask: columns: wanted a list of text, found the text 'abc'"),
        ({"columns": [1]}, "ask: columns: wanted a list of text, found a list"),
        ({"own": {"a": "b"}}, "ask: own: wanted a mapping of a whole number or None, found a mapping"),
        ({"loud": 1}, "ask: loud: wanted true or false, found the number 1"),
        ({"say": "loudly"}, "ask: say: wanted a function, found the text 'loudly'"),
        ({"lmit": 3}, "ask: there is no argument 'lmit'; did you mean 'limit'?"),
    ],
)
def test_a_wrong_argument_is_told_in_one_line(given: dict[str, Any], told: str) -> None:
    with pytest.raises(WrongArgument) as caught:
        ask(**{"name": "x", **given})
    assert str(caught.value) == told


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(WrongArgument, match="ask: missing a required argument: 'name'"):
        ask()  # type: ignore[call-arg]


def test_programs_may_catch_it_as_they_are_used_to() -> None:
    assert issubclass(WrongArgument, (StudyError, TypeError, ValueError))
    assert issubclass(WrongArgument, TypeError)
    assert issubclass(WrongArgument, ValueError)


def test_what_fits_goes_through() -> None:
    assert ask("a", limit=np.int64(3), share=np.float32(0.5), loud=np.bool_(True), columns=("b",), data=object()) == "a"
    assert ask("a", share=1, place=Path("x"), own={"a": 1}, mode="live") == "a"
    # A name from the disk that is no UTF-8 is a name all the same.
    assert ask("a", place="caf\udce9") == "a"
    assert ask.__doc__ == "Ask."
