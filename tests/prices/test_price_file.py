from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.errors import StudyError
from overnight.prices import Rate, Tier
from overnight.prices.price_file import Entry, find_entry, parse_prices, read_price_file
from prices.asking import model, usd


def only(text: str) -> Entry:
    (entry,) = parse_prices(text, "prices.yaml")
    return entry


def complaint(text: str) -> str:
    with pytest.raises(StudyError) as caught:
        parse_prices(text, "prices.yaml")
    return str(caught.value)


def test_a_line_by_hand() -> None:
    entry = only("openai/gpt-9: {input: 1.25, cached: 0.125, output: 10, batch: 0.5}")
    assert entry == Entry(
        "openai/gpt-9", Rate(input=usd("1.25"), cached=usd("0.125"), output=usd("10")), Fraction(1, 2)
    )


def test_everything_that_may_be_said() -> None:
    entry = only("""
        gemini/gemini-9-pro:
          input: 1.25
          cached: .125
          cache_write: 1.5625
          output: 1e1
          request: 0.000000001
          above:
            500000: {input: 5, output: 40}
            200000: {input: 2.5, cached: 0.25, cache_write: 3.125, output: 15}
          batch: {input: 0.625, output: 5., above: {200000: {input: 1.25, output: 7.5}}}
        """)
    assert entry.standard == Rate(
        input=usd("1.25"),
        cached=usd("0.125"),
        cache_write=usd("1.5625"),
        output=usd("10"),
        request=1,
        tiers=(
            Tier(
                above_input_tokens=200_000,
                input=usd("2.5"),
                cached=usd("0.25"),
                cache_write=usd("3.125"),
                output=usd("15"),
            ),
            Tier(above_input_tokens=500_000, input=usd("5"), output=usd("40")),
        ),
    )
    assert entry.batch == Rate(
        input=usd("0.625"),
        output=usd("5"),
        tiers=(Tier(above_input_tokens=200_000, input=usd("1.25"), output=usd("7.5")),),
    )


def test_an_empty_file_says_nothing() -> None:
    assert parse_prices("", "prices.yaml") == ()
    assert parse_prices("# nothing yet\n", "prices.yaml") == ()


def test_anchors_save_typing() -> None:
    first, second = parse_prices("openai/a: &same {input: 1, output: 2}\nopenai/b: *same", "prices.yaml")
    assert first.standard == second.standard == Rate(input=usd("1"), output=usd("2"))


@settings(deadline=None)
@given(st.decimals(0, 999_999, places=9))
def test_figures_are_read_digit_by_digit(number) -> None:
    standard = only(f"openai/a: {{input: {number:f}, output: 0}}").standard
    assert standard is not None
    assert standard.input == Fraction(number) * 10**9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("openai/a: {inptu: 1, output: 2}", "1:12: unknown key 'inptu'; did you mean 'input'?"),
        ("openai/a:\n  input: -1\n  output: 2", "2:10: input: wanted dollars, 0 or more, found -1"),
        ("openai/a: {input: one, output: 2}", "1:19: wanted a number, found 'one'"),
        ("openai/a: {input: '1', output: 2}", "1:19: wanted a number, found '1'"),
        ("openai/a: {input: .inf, output: 2}", "1:19: wanted a number, found '.inf'"),
        ("openai/a: {input: .nan, output: 2}", "1:19: wanted a number, found '.nan'"),
        ("openai/a: {input: 1_000, output: 2}", "1:19: wanted a number, found '1_000'"),
        ("openai/a: {input: 0x10, output: 2}", "1:19: wanted a number, found '0x10'"),
        ("openai/a: {input: $1, output: 2}", "1:19: wanted a number, found '$1'"),
        ("openai/a: {input: 1e9999, output: 2}", "1:19: wanted a number, found '1e9999'"),
        ("openai/a: {input: , output: 2}", "1:18: wanted a number, found ''"),
        ("openai/a: {input: [1], output: 2}", "1:19: wanted a number"),
        ("openai/a: {input: 1250000000, output: 2}", "1:19: 1250000000 dollars: prices are for a million tokens"),
        ("openai/a: {input: 1e-10, output: 2}", "1:19: 1e-10 is finer than a billionth of a dollar"),
        ("openai/a: {input: 1}", "1:11: a price needs both input and output; output is missing"),
        ("openai/a: {cached: 1, output: 1}", "1:11: a price needs both input and output; input is missing"),
        ("openai/a: {}", "1:11: no price is given"),
        ("openai/a: 5", "1:11: wanted a mapping of prices"),
        ("openai/a:", "1:10: wanted a mapping of prices"),
        ("openai/a: {batch: 50}", "1:19: batch is a part of the standard price, such as 0.5; found 50"),
        ("openai/a: {batch: -0.5}", "1:19: batch: wanted a part of the standard price, 0 or more, found -0.5"),
        ("openai/a: {batch: half}", "1:19: wanted a number, found 'half'"),
        ("openai/a: {batch: {input: 1}}", "1:19: a price needs both input and output; output is missing"),
        ("openai/a: {batch: {}}", "1:19: a price needs both input and output; input is missing"),
        ("openai/a: {batch: {batch: 1}}", "1:20: unknown key 'batch'"),
        ("openai/a: {above: {200k: {}}, input: 1, output: 1}", "1:20: wanted a number of input tokens"),
        ("openai/a: {above: {-5: {}}, input: 1, output: 1}", "1:20: wanted a number of input tokens"),
        ("openai/a: {above: 5, input: 1, output: 1}", "1:19: wanted token counts and their prices"),
        (
            "openai/a: {above: {5: {input: 1}}, input: 1, output: 1}",
            "1:23: a price needs both input and output; output is missing",
        ),
        ("openai/a: {above: {5: {request: 1}}, input: 1, output: 1}", "1:24: unknown key 'request'"),
        (
            "openai/a: {above: {5: {input: 1, output: 1}, 05: {input: 1, output: 1}}, input: 1, output: 1}",
            "1:46: 5 is given twice",
        ),
        (
            "openai/a: {input: 1, input: 2, output: 1}",
            "1:22: 'input' is given twice, first in line 1; keep one of them",
        ),
        (
            "openai/a: {batch: 1}\nopenai/a: {batch: 1}",
            "2:1: 'openai/a' is priced twice, first in line 1; keep one of them",
        ),
        (
            "openai/gpt-4.1-mni: {input: 1, output: 2}",
            "1:1: no model 'openai/gpt-4.1-mni' is known; did you mean 'openai/gpt-4.1-mini'? if it is a new model",
        ),
        ("openai/gpt-4.1-mni: {new: maybe, input: 1, output: 2}", "1:27: new: wanted true or false"),
        ("gpt-9: {batch: 1}", "1:1: wanted provider/model, as in openai/gpt-4.1 or ollama/*, found 'gpt-9'"),
        ("openai/: {batch: 1}", "1:1: wanted provider/model"),
        ("/gpt-9: {batch: 1}", "1:1: wanted provider/model"),
        ("opnai/gpt-9: {batch: 1}", "1:1: unknown provider 'opnai'; did you mean 'openai'? (known: anthropic, azure,"),
        ("? [a]\n: {batch: 1}", "1:3: a key must be text"),
        ("- openai/a", "1:1: wanted models and their prices"),
        ("openai/a: {", "not YAML: "),
        ("--- {}\n--- {}", "2:1: not YAML: "),
        ("openai/a: *there", "1:11: not YAML: found undefined alias"),
        ("openai/a: \x07", "the character U+0007 cannot stand in YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    found = complaint(text)
    assert found.startswith("prices.yaml:")
    assert said in found


def test_nesting_without_end_is_refused() -> None:
    assert complaint("[" * 500) == "prices.yaml: nested too deeply"


pieces = st.sampled_from(
    [
        *("openai/a", "input", "output", "batch", "above", "cached", ": ", ":", "{", "}", "[", "]", ", ", "\n", "  "),
        *(
            "1",
            "0.5",
            "1e5",
            "-1",
            "&a",
            "*a",
            "<<",
            "!!str ",
            "!x ",
            "? ",
            "- ",
            "'",
            '"',
            "|",
            "%",
            "---",
            "...",
            "#",
        ),
    ]
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=30).map("".join) | st.text(max_size=50))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        entries = parse_prices(text, "prices.yaml")
    except StudyError:
        return
    assert all(entry.standard or entry.batch is not None for entry in entries)


# ---- which line speaks for a model


def pattern_for(name: str, *patterns: str) -> str | None:
    entries = parse_prices("\n".join(f"{one}: {{batch: 0.5}}" for one in patterns), "prices.yaml")
    entry = find_entry(entries, model(name))
    return entry.pattern if entry else None


@pytest.mark.parametrize("turn", [1, -1])
def test_the_line_that_says_most_wins(turn: int) -> None:
    patterns = ["openai/*", "openai/gpt-9*", "openai/gpt-9-mini", "openai/gpt-9-mini*", "azure/*"][::turn]
    assert pattern_for("openai/gpt-9-mini", *patterns) == "openai/gpt-9-mini"
    assert pattern_for("openai/gpt-9-mini-2027-01-01", *patterns) == "openai/gpt-9-mini*"
    assert pattern_for("openai/gpt-9", *patterns) == "openai/gpt-9*"
    assert pattern_for("openai/o9", *patterns) == "openai/*"
    assert pattern_for("gemini/o9", *patterns) is None


def test_only_a_star_stands_for_something() -> None:
    assert pattern_for("openai/gpt-9", "openai/gpt-?") is None
    assert pattern_for("openai/gptx9", "openai/gpt.9") is None
    assert pattern_for("openai/gpt-9-mini", "openai/*-mini") == "openai/*-mini"
    assert pattern_for("together/Qwen/Qwen9", "together/Qwen/*") == "together/Qwen/*"
    assert pattern_for("openai/gpt-9-mini", "openai/gpt-9") is None


def test_a_provider_of_another_package_may_have_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "unknown provider 'nightshift'" in complaint("nightshift/a: {batch: 0.5}")
    package = tmp_path / "nightshift-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: nightshift\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[overnight.providers]\nnightshift = nightshift:provider\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert only("nightshift/a: {batch: 0.5}").pattern == "nightshift/a"


# ---- files


def test_a_file_is_named_in_complaints(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("openai/a: 1")
    with pytest.raises(StudyError, match=r"mine\.yaml:1:11: wanted"):
        read_price_file(path)


def test_a_mark_at_the_start_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbfopenai/a: {batch: 0.5}")
    assert [entry.pattern for entry in read_price_file(path)] == ["openai/a"]


def test_a_file_that_cannot_be_read_is_a_study_error(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="No such file"):
        read_price_file(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"# caf\xe9")
    with pytest.raises(StudyError, match="not UTF-8"):
        read_price_file(tmp_path / "latin.yaml")


def test_a_new_model_may_be_called_almost_like_another() -> None:
    (entry,) = parse_prices("openai/gpt-4.1-mni: {new: true, input: 1, output: 2}", "prices.yaml")
    assert entry.pattern == "openai/gpt-4.1-mni"
    assert entry.standard is not None
