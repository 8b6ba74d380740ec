"""The page takes whatever it is given as text, and has nothing in it that could fetch or run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.reporting import (
    Bar,
    Bars,
    Conversation,
    Figure,
    Interval,
    Intervals,
    Line,
    Lines,
    Matrix,
    Point,
    Reading,
    Section,
    Sentence,
    Span,
    Table,
    Talks,
    Timeline,
    Turn,
)
from overnight.reporting.files import figure_svg
from overnight.reporting.page.html import Fact, Finding, Page, Rows, page_text, table_csv
from overnight.reporting.page.packed import packed
from overnight.reporting.shown_text import escaped, plain
from reporting import pages

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e\"'&</pre></script>\x00\ud800"


def figures(text: str) -> list[Figure]:
    drawings = [
        Intervals(rows=[Interval(text, 0.2, 0.1, 0.4, text), Interval("b", None), Interval("c", 0.1)], axis=text),
        Matrix(labels=[text, "b"], shares=[[None, 0.7], [0.3, None]]),
        Matrix(labels=[text, "b"], shares=[[0.1], [0.9]], columns=[text], texts=[[text], ["x"]]),
        Bars(rows=[Bar(text, [1, 0], text)], words=[text, "b"], tones=["good", "bad"], axis=text),
        Lines(lines=[Line(text, [Point(0, 1, 0.9, 1), Point(1, 0.5, 0.4, 0.6)])], x_axis=text, y_axis=text),
        Lines(lines=[Line(text, [Point(3, 1), Point(8, 0.5)])], x_axis=text, y_axis=text, joined=True, dollars=True),
        Timeline(spans=[Span(text, 1e9, 1e9 + 60, "good", text)]),
    ]
    numbers = Table(columns={text: [text, None], "n": [1, 2.5]})
    return [
        Figure(name=f"figure-{at}", title=text, caption=text, drawing=one, numbers=numbers)
        for at, one in enumerate(drawings)
    ]


def page(text: str) -> str:
    frame = pl.DataFrame({"item": [plain(text), None], "n": [1, None]})
    rows = Rows(title=text, about=text, data=packed(frame), first=Table(columns={text: [text]}))
    reading = Reading(title=text, texts=[(text, text)], notes=[text])
    talk = Conversation(label=text, turns=[Turn(text, text, notes=[text]), Turn(text, text, own=True, marked=True)])
    parts = [
        Sentence(text),
        Sentence(text, "finding"),
        *figures(text),
        reading,
        Talks(title=text, talks=[talk, talk], notes=[text]),
        Table(columns={text: [text]}, title=text),
        Table(columns={text: [text]}, title=text, folded=True),
    ]
    return page_text(
        Page(
            title=text, eyebrow=text, asked=text, findings=[Finding(text=text, about=text)], facts=[Fact(word=text, value=text, more=text)],
            sections=[Section(title=text, parts=parts), Section(title=text, parts=[])], rows=[rows], footer=text,
        )
    )  # fmt: skip


def tags_of(text: str) -> Counter[str]:
    """But for those that come and go with a text's length: a title where a label is cut, what is small, a mark in a drawing."""
    return Counter(
        tag
        for tag, _ in pages.Page(page(text)).tags
        if tag not in ("title", "small", "b", "h3", "rect", "text", "line")
    )


def test_hostile_texts_are_text_in_every_place() -> None:
    found = pages.Page(page(HOSTILE).encode().decode())
    assert tags_of(HOSTILE) == tags_of("harmless")
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert found.text.count("<script>alert(1)</script>") > 20
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e\ud800-\udfff]", found.text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_no_text_adds_a_tag(text: str) -> None:
    assert tags_of(text) == tags_of("harmless")


def test_one_script_and_one_style_by_their_hashes_and_nothing_else() -> None:
    text = page("x")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    for tag in ("script", "style"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    outside = [
        attributes.get(name)
        for _, attributes in pages.Page(text).tags
        for name in ("src", "href", "style", "action")
        if attributes.get(name) is not None
    ]
    assert all(one.startswith(("#", "data:text/csv")) for one in outside)
    assert "url(" not in text
    assert "@import" not in text


def test_names_inside_the_page_are_unique() -> None:
    names = [attributes["id"] for _, attributes in pages.Page(page("Same")).tags if "id" in attributes]
    assert len(names) == len(set(names))


def test_the_same_parts_give_the_same_bytes() -> None:
    assert page("x\u00e9") == page("x\u00e9")


def test_a_figure_stands_alone() -> None:
    for figure in figures("a < b"):
        svg = figure_svg(figure)
        assert "var(--" not in svg
        assert "a < b" not in svg
        assert svg.startswith('<svg class="figure wide"')


def test_a_csv_has_every_row() -> None:
    table = Table(columns={"a": ['x,"y"', None], "b": [0.123456789, float("nan")], "c": [True, 3]})
    assert table_csv(table) == b'a,b,c\n"x,""y""",0.123457,true\n,,3\n'


def test_plain_text_shows_what_cannot_be_seen() -> None:
    assert plain("a\x1b[0m\x7f\x9b\u202eb\n\t\u00e9") == "a\u241b[0m\u2421[U+009B][U+202E]b\n\t\u00e9"
    assert escaped("<'\">&") == "&lt;&#x27;&quot;&gt;&amp;"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=10) | st.none(),
            st.integers(-(10**12), 10**12) | st.none(),
            st.booleans() | st.none(),
            st.floats(0, 1000) | st.none() | st.just(float("nan")),
        ),
        max_size=40,
    )
)
def test_packed_rows_come_out_as_they_went_in(rows: list[tuple]) -> None:
    schema = {"text": pl.String, "whole": pl.Int64, "flag": pl.Boolean, "share": pl.Float64}
    found = pages.unpacked(packed(pl.DataFrame(rows, schema=schema, orient="row"), {"share": 3}))
    assert found["text"] == [plain(text or "") for text, *_ in rows]
    assert found["flag"] == [{True: "yes", False: "no", None: ""}[flag] for _, _, flag, _ in rows]
    for got, (_, whole, _, share) in zip(zip(found["whole"], found["share"], strict=True), rows, strict=True):
        missing = share is None or share != share
        assert (got[1] is None) == missing
        if not missing:
            assert abs(got[1] - share) <= 0.00051
        assert (got[0] is None) == (whole is None)


@pytest.mark.parametrize("names", [["b", "a", None, "b"], [None, None], ["", "a"], ["a\n", "a"], ["\u00e9", "z"], []])
def test_names_that_are_packed_at_once_come_out_like_those_that_are_looked_at(names: list[str | None]) -> None:
    found = pages.unpacked(packed(pl.DataFrame({"name": pl.Series(names, dtype=pl.String)})))
    assert found["name"] == ["" if name is None else name for name in names]
