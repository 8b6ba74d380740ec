"""Every screen, and that whatever a model or a stranger wrote is shown as text."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from ledger.damage import edit
from overnight.ledger.account_book import AccountBook
from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from reporting.pages import Page
from serving.runs_to_show import HOSTILE, HOSTILE_ID, Looker

ROOT = ".rehearsal"


def item(run: str, name: str, **more: str) -> str:
    return f"/run/{run}/item?{urlencode({'id': name, **more})}"


def test_runs_with_progress_and_money(looker: Looker) -> None:
    page = Page(looker.get("/").text).text
    assert "100% of 10 rows: 10 answered" in page
    assert re.search(r"\$0\.\d+ spent", page)
    assert "rehearsals" in page


def test_one_run(looker: Looker) -> None:
    page = looker.get("/run/answers").text
    for text in (
        "What came of the rows?",
        "What it cost",
        "Batches over time",
        "set aside",
        "presumed spent",
        "All 10 rows",
    ):
        assert text in page
    assert page.count('<svg class="figure wide"') >= 3
    assert "Resume" not in Page(page).text  # there is nothing to go on with


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/run/answer", 404, "did you mean &#x27;answers&#x27;?"),
        ("/run/..%2F..%2Fetc", 404, "there is no run"),
        ("/run/%2e%2e/rows", 404, "there is no run"),
        ("/run/answers/nothing", 404, "There is no such page"),
        ("/run/answers/item?id=none", 404, "has asked nothing about an item"),
        ("/run/answers/rows?page=x", 409, "is not a number of a page"),
        ("/run/answers/rows?least_cost=much", 409, "least cost: &#x27;much&#x27; is not a number"),
        ("/run/answers/rows?least_length=1e99", 409, "is not a whole number"),
        ("/run/answers/rows?least_cost=nan", 409, "is not a number"),
        ("/run/answers/rows?order=best", 409, "there are table, longest"),
        ("/run/answers/arms?measure=beauty", 404, "cannot be compared by"),
        ("/run/answers/arms?a=none", 404, "has no arm"),
    ],
)
def test_what_is_wrong_is_said_in_words(looker: Looker, path: str, status: int, said: str) -> None:
    found = looker.get(path)
    assert (found.status, said in found.text) == (status, True), found.text


def searched(looker: Looker, path: str = "/run/answers/rows", **query: object) -> str:
    """The page of rows once the search has come to its end: what is shown before is what was found by then."""
    page = looker.get(path, **query).text
    until = time.monotonic() + 30
    while "rows looked through" in page and time.monotonic() < until:
        time.sleep(0.05)
        page = looker.get(path, **query).text
    return page


def test_rows_are_searched_and_chosen(looker: Looker) -> None:
    def rows(**query: object) -> list[str]:
        page = searched(looker, **query)
        return re.findall(r'class="row">([^<]*)<', page)

    every = rows()
    assert len(every) == 10
    assert rows(q="ESSAY 2") == ["essay 2", "essay 2"]
    assert rows(q="Taken Over") == every
    assert rows(q="alert(1)>") == every
    assert rows(q="taken.over") == []  # words, and no pattern
    assert len(rows(status="answered")) == 10
    assert rows(status="failed") == []
    assert rows(cause="no such cause") == []
    arm = re.findall(r'<option value="(prompt__[^"]+)"', looker.get("/run/answers/rows").text)[0]
    assert len(rows(arm=arm)) == 5
    assert rows(least_length=10_000) == []
    assert rows(page=2) == []


def test_hostile_texts_are_shown_as_text(looker: Looker) -> None:
    paths = [
        "/",
        "/run/answers",
        "/run/answers/rows",
        "/run/answers/rows?q=script",
        "/accounts",
        "/run/answers/arms",
    ]
    paths += [item("answers", "essay 1"), item("answers", HOSTILE_ID), item("pairs", "essay 1:essay 0")]
    paths += ["/run/answers/rows?" + urlencode({"q": HOSTILE, "arm": HOSTILE, "stage": HOSTILE})]
    raw = re.findall(r'href="(/run/answers/raw[^"]*)"', looker.get(item("answers", "essay 1")).text)
    paths += [one.replace("&amp;", "&") for one in raw]
    for path in paths:
        text = looker.get(path).text
        page = Page(text)
        assert [attributes for tag, attributes in page.tags if tag == "script"] == [
            {"src": page_script(text), "defer": None}
        ], path
        assert not [tag for tag, _ in page.tags if tag in ("img", "b", "iframe")], path
        assert not {"\x1b", "\u202e", "\u202c"} & set(text), path
    shown = Page(looker.get(item("answers", "essay 1")).text).text
    assert "<script>document.title='taken over'</script><img src=x onerror=alert(1)> \u241b[31m [U+202E]abc" in shown
    assert "<b>item</b> [U+202E]'\"&?#/%" in Page(looker.get(item("answers", HOSTILE_ID)).text).text


def page_script(text: str) -> str:
    found = re.search(r'<script src="(/script-[0-9a-f]{12}\.js)" defer></script>', text)
    assert found is not None
    return found[1]


def test_every_link_of_a_hostile_item_leads_to_it(looker: Looker) -> None:
    page = searched(looker, q="item</b>")
    links = {attributes["href"] or "" for tag, attributes in Page(page).tags if attributes.get("class") == "row"}
    assert len(links) == 2
    for link in links:
        assert looker.get(link).status == 200


def test_one_item_with_all_arms(looker: Looker) -> None:
    found = looker.get(item("answers", "essay 1", arm="prompt__openai__gpt-4.1-mini__default__forward"))
    page = Page(found.text)
    assert [tag for tag, _ in page.tags].count("article") == 2
    assert {"class": "asked-for"} in [attributes for tag, attributes in page.tags if tag == "article"]
    assert "Raw request and answer" in page.text
    assert "Next item" in page.text


def test_differences_are_marked(looker: Looker) -> None:
    page = looker.get(item("talk", "q1")).text
    assert "<ins>" in page
    assert "differences of the others are marked against this one" in page


def test_the_raw_request_and_answer_are_those_on_record(looker: Looker, runs: Path) -> None:
    link = re.findall(r'href="(/run/answers/raw[^"]*openai[^"]*)"', looker.get(item("answers", "essay 1")).text)[0]
    page = Page(looker.get(link.replace("&amp;", "&")).text).text
    bodies = (runs / ROOT / "answers" / "requests" / "00001.jsonl").read_text().splitlines()
    sent = next(one for one in bodies if "Essay 1 " in one and "gpt-4.1-mini" in one)
    assert json.loads(sent)["model"] == "gpt-4.1-mini"
    assert sent.split("\\u001b")[0][:60] in page.replace("\u241b", "\x1b")
    assert '"model": "gpt-4.1-mini"' in page
    assert re.search(r"came \S+ in batch \S+ \(shard 1\), [\dhms ]+ after that was sent", page)


def test_a_damaged_file_is_told_and_not_shown(looker: Looker, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / ROOT / "answers", tmp_path / ROOT / "answers")
    for raw in (tmp_path / ROOT / "answers" / "raw").iterdir():
        raw.write_bytes(raw.read_bytes().replace(b"winter", b"summer").replace(b"taken over", b"TAKEN OVER"))
    with Dashboard(settings(runs=tmp_path, emulate=True), port=0) as other:
        page = Looker(other.address).get(item("answers", "essay 1"))
        assert page.status == 200
        assert "the file is damaged" in page.text
        assert "TAKEN OVER" not in page.text


def test_the_page_of_a_run_looks_at_no_row(looker: Looker, runs: Path, tmp_path: Path) -> None:
    # So it costs the same for a million rows: what it shows is kept as sums.
    shutil.copytree(runs / ROOT / "answers", tmp_path / ROOT / "answers")
    edit(tmp_path / ROOT / "answers", "UPDATE result SET received_at=1e30")  # of no day: no sum over rows is made
    with Dashboard(settings(runs=tmp_path, emulate=True), port=0) as other:
        page, whole = (Page(one.get("/run/answers").text).text for one in (Looker(other.address), looker))
    assert re.findall(r"The bill is \$[\d.]+", page) == re.findall(r"The bill is \$[\d.]+", whole) != []


def test_both_orders_of_a_pair(looker: Looker) -> None:
    rows = looker.get("/run/pairs/rows").text
    name = re.findall(r'class="row">([^<]*)<', rows)[0]
    page = Page(looker.get(item("pairs", name)).text)
    assert len(re.findall(r"the same in both orders", page.text)) == 2  # one sentence for each judge
    assert [tag for tag, _ in page.tags].count("article") == 4
    first, second = name.split(":")
    assert f"{first} in compare: its fields" in page.text
    assert f"{second} in compare: its fields" in page.text


def test_a_conversation_turn_by_turn(looker: Looker) -> None:
    page = Page(looker.get(item("talk", "q1")).text).text
    assert page.index("turn 1") < page.index("turn 2") < page.index("turn 3")
    assert "Is 1 a prime?" in page


def test_two_arms_compared(looker: Looker) -> None:
    page = Page(looker.get("/run/answers/arms", measure="status=answered").text).text
    assert "Status is answered: 100.0% for" in page
    assert "over 5 items that both have" in page
    assert "no difference can be told." in page
    assert looker.get("/run/answers/arms", measure="length").status == 200
    both = looker.get("/run/answers/arms", measure="status=answered", cell="both").text
    assert len(re.findall(r'class="row"', both)) == 5


def test_accounts_and_what_was_learned(runs: Path, looker: Looker) -> None:
    book = AccountBook(runs / ROOT / "accounts.db")
    book.keep_limit("openai|rehearsal||", "gpt-4.1-mini", 90_000)
    book.close()
    page = Page(looker.get("/accounts").text).text
    assert "90,000 tokens" in page
    assert "claude-haiku-4-5" in page
    assert "0 tokens in 0 batches" in page


def test_a_report_is_drawn_and_kept_apart(looker: Looker) -> None:
    found = looker.get("/run/answers/report")
    assert found.status == 200
    assert found.text.startswith("<!doctype html>")
    assert "report of a run" in found.text
    assert found.headers["Content-Security-Policy"].startswith("sandbox allow-scripts allow-downloads;")
    assert "allow-same-origin" not in found.headers["Content-Security-Policy"]


def test_an_answer_leads_to_what_later_stages_say_of_it_and_back(looker: Looker) -> None:
    page = looker.get(item("spec", "rule_0_0")).text
    later = [one.replace("&amp;", "&") for one in re.findall(r'href="(/run/spec/item\?id=rule_0_0%[^"]*)"', page)]
    assert len(set(later)) == 3  # one for each of two answers, and their comparison
    assert "What later stages say of it" in page
    assert "rank: answers beside each other" in page
    assert re.search(r"(not )?compliant", Page(page).text)
    for link in later:
        back = looker.get(link)
        assert back.status == 200
        assert re.search(r'This is about .*href="/run/spec/item\?id=rule_0_0(&amp;arm=[^"]*)?"', back.text)


def test_what_judges_said_is_offered_before_what_is_known_of_the_items(looker: Looker) -> None:
    page = looker.get("/run/spec/arms", stage="rank").text
    measures = re.findall(r'<option value="([^"]*)"', page[page.index("compared by") :])
    assert measures[0].startswith("verdict=")
    assert any(one.startswith("authority_level=") for one in measures)


def test_a_pair_leads_to_all_rows_about_each_of_the_two(looker: Looker) -> None:
    page = looker.get(item("pairs", "essay 1:essay 0")).text
    links = re.findall(r'href="(/run/pairs/rows\?q=essay\+\d)"', page)
    assert len(links) == 2
    assert all("essay" in Page(searched(looker, link)).text for link in links)
