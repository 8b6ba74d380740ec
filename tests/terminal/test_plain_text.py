"""Any text fits one line of a terminal, and cannot steer it."""

from hypothesis import given
from hypothesis import strategies as st

from overnight.terminal.plain_text import one_line, shortened


@given(st.text())
def test_one_line_is_printable_and_one_line(text: str):
    line = one_line(text)
    assert line.isprintable()
    assert line == line.strip()
    assert "  " not in line


@given(st.text(alphabet=st.characters(whitelist_categories=("L", "N", "P")), max_size=50))
def test_visible_text_stays(text: str):
    assert one_line(text) == text


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_shortened_fits(text: str, width: int):
    short = shortened(text, width)
    assert len(short) <= width
    assert short == text if len(text) <= width else text.startswith(short[:-1])


def test_what_is_cut_is_marked():
    assert shortened("apples and pears", 7) == "apples…"
    assert shortened("apples", 6) == "apples"
    assert shortened("apples", 0) == ""
