"""docs/prices.md cannot fall behind: every provider, key and note is in it, and every example in it works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from overnight.core.errors import StudyError
from overnight.core.result import Usage
from overnight.prices import UPPER_BOUND, YOURS, Rate, cost, price_note
from overnight.prices.catalogue import BY_THE_HOUR, CATALOGUE_IDS, ELSEWHERE, carried, of_the_package
from overnight.prices.price_file import ENTRY_KEYS, parse_prices
from overnight.prices.price_list import snapshot
from prices.asking import found, model, own_book, priced, usd

PAGE = (Path(__file__).parents[2] / "docs" / "prices.md").read_text(encoding="utf-8")
(FILE,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PROGRAMS = re.findall(r"<!-- run -->\n```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def table(heading: str) -> dict[str, str]:
    """The first table under a heading: its first column, and the rest."""
    part = PAGE.split(f"## {heading}")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| (.+?) \| (.+) \|$", part, re.MULTILINE))


def test_every_provider_is_listed() -> None:
    rows = table("Where a price comes from")
    assert {name.strip("`") for name in rows} - {"provider"} == CATALOGUE_IDS.keys()
    for name, listing in CATALOGUE_IDS.items():
        if listing is not None:
            assert rows[f"`{name}`"].split(";")[0] == listing


def test_every_source_is_explained() -> None:
    origins = (carried().origin, of_the_package(snapshot()).origin, "prices.yaml")
    rows = table("Of which day a price is").keys() - {"source"}
    assert {_numberless(row.strip("`")) for row in rows} == {_numberless(origin) for origin in origins}


def _numberless(text: str) -> str:
    return re.sub(r"[0-9]+", "1", text)


def test_every_key_is_explained() -> None:
    explained = " ".join(table("Your own prices"))
    for key in ENTRY_KEYS:
        assert f"`{key}`" in explained


def test_every_note_is_explained() -> None:
    usage = Usage(input=9, cached=1, cache_write=1)
    bare = price_note(priced(Rate(input=1)), usage)
    rate = Rate(input=1, cached=1, cache_write=1)
    carried = price_note(priced(rate, at_standard=("cached", "cache_write")), usage)
    tier = found("openai/gpt-5", "live", service_tier="velvet").note.replace("velvet", "...")
    notes = {UPPER_BOUND, YOURS, ELSEWHERE, BY_THE_HOUR, tier, *bare.split("; "), *carried.split("; ")}
    assert {f"`{note}`" for note in notes} == table("Notes").keys() - {"note"}


def test_the_file_works_as_it_says(tmp_path: Path) -> None:
    book = own_book(tmp_path, FILE)
    rates = {}
    for name in ("openai/gpt-9", "gemini/gemini-9-pro", "azure/gpt-5-nano", "ollama/llama3.3"):
        price = book.price(model(name), "batch")
        assert price is not None
        assert price.note == YOURS
        rates[name] = price.rate
    assert rates["openai/gpt-9"] == Rate(input=usd("0.625"), cached=usd("0.0625"), output=usd("5"))
    assert rates["gemini/gemini-9-pro"] == Rate(input=usd("0.625"), cached=usd("0.125"), output=usd("5"))
    assert rates["azure/gpt-5-nano"].input == usd("0.025")
    assert rates["ollama/llama3.3"].is_free()
    live = book.price(model("gemini/gemini-9-pro"), "live")
    assert live is not None
    assert cost(live, Usage(input=200_001, output=0)) == 500_002_500


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_runs(program: str) -> None:
    assert "assert" in program
    exec(program, {})


@pytest.mark.parametrize(
    "text", ["openai/gpt-9: {inptu: 1.25, output: 10}", "ollama/*: {input: 0, output: 0}\nopenai/gpt-9*: {batch: 50}"]
)
def test_the_page_shows_real_complaints(text: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_prices(text, "prices.yaml")
    assert f"    {caught.value}\n" in PAGE
