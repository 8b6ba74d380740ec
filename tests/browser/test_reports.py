"""Reports as people open them: wide and narrow, by day and by night, on paper, with a keyboard, and without scripts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[2] / ".browser" / "node_modules" / "axe-core" / "axe.min.js"
RUNS = ("compare", "adaptive", "generate", "spec", "pressure", "failing", "open")
PAGES = (*RUNS, "hostile", "large")

UNFOLD = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
# Words of figures that lie on each other, or that run out of their figure.
MISPLACED = """() => [...document.querySelectorAll('figure svg')].filter(svg => svg.getClientRects().length).flatMap(svg => {
  const edge = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll('text')].map(one => [one.firstChild.textContent, one.getBoundingClientRect()]);
  const out = words.filter(([, box]) => box.left < edge.left - 2 || box.right > edge.right + 2);
  const on = words.filter(([, a], at) => words.some(([, b], other) => other > at &&
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4));
  return [...out, ...on].map(([text]) => svg.getAttribute('aria-label') + ': ' + text);
})"""


@contextmanager
def opened(browser: Any, path: Path, width: int = 1280, scheme: str = "light", **more: Any) -> Iterator[Any]:
    """A page, and what it complained of or asked for."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: troubles.append(request.url) if asked(request.url, path) else None)
    page.goto(path.as_uri())
    yield page
    context.close()
    assert troubles == []


def asked(url: str, path: Path) -> bool:
    """Whether it is anything but the page itself, or a file that is in it."""
    return url != path.as_uri() and not url.startswith("data:text/csv;")


@pytest.mark.parametrize("name", PAGES)
def test_it_fits_and_asks_for_nothing(browser: Any, reports: dict[str, Path], name: str) -> None:
    with opened(browser, reports[name]) as page:
        page.wait_for_selector(".browser[data-ready=yes]")
        page.evaluate(UNFOLD)
        for width, kind in ((1280, "wide"), (360, "narrow")):
            page.set_viewport_size({"width": width, "height": 900})
            for scheme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 22, 29)")):
                page.emulate_media(color_scheme=scheme)
                assert page.evaluate("document.documentElement.scrollWidth") == width
                assert page.locator(f"figure svg.{kind}:visible").count() == page.locator("figure").count()
                assert page.locator("figure svg:visible").count() == page.locator("figure").count()
                assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour
            if name in RUNS:
                assert page.evaluate(MISPLACED) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_those_who_cannot_see_it_can_read_it(browser: Any, reports: dict[str, Path], name: str, scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("make browser installs axe-core")
    with opened(browser, reports[name], 1280, scheme, bypass_csp=True) as page:
        page.wait_for_selector(".browser[data-ready=yes]")
        page.evaluate(UNFOLD)
        page.add_script_tag(path=str(AXE))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert serious == []


def test_a_hundred_thousand_rows_are_small_and_quick(browser: Any, reports: dict[str, Path]) -> None:
    assert reports["large"].stat().st_size < 3_000_000
    with opened(browser, reports["large"]) as page:
        began = time.monotonic()
        page.wait_for_selector(".browser[data-ready=yes]")
        assert time.monotonic() - began < 10  # under two seconds on an idle machine
        told = page.locator(".told")
        assert told.inner_text() == "rows 1 to 30 of 100,000"
        page.get_by_label("search").fill("essay 00042")
        assert told.inner_text() == "rows 1 to 1 of 1 (of 100,000 in all)"
        page.get_by_label("search").fill("")
        page.get_by_label("status").select_option(label="refused")
        assert "of 100,000 in all" in told.inner_text()
        page.get_by_role("button", name="cost").click()
        page.get_by_role("button", name="Next").click()
        assert told.inner_text().startswith("rows 31 to 60 of ")
        place = page.locator(".browser thead th").all_inner_texts().index("cost") + 1
        costs = page.locator(f".browser tbody tr td:nth-child({place})").all_inner_texts()
        assert costs == sorted(costs)


def test_it_works_by_keyboard(browser: Any, reports: dict[str, Path]) -> None:
    with opened(browser, reports["compare"]) as page:
        page.wait_for_selector(".browser[data-ready=yes]")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#content"
        page.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.querySelector('details').open")
        heading = page.locator("details table th button").first
        heading.focus()
        page.keyboard.press("Enter")
        assert page.locator("th[aria-sort=ascending]").count() == 1
        reached = set()
        for _ in range(400):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.tagName"))
        assert {"A", "SUMMARY", "BUTTON", "INPUT"} <= reached


@pytest.mark.parametrize("name", PAGES)
def test_figures_and_numbers_stand_without_scripts(browser: Any, reports: dict[str, Path], name: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    page.goto(reports[name].as_uri())
    assert page.locator("figure svg.wide").first.is_visible()
    page.locator("figure summary").first.click()
    assert page.locator("figure table tbody tr").first.is_visible()
    assert page.get_by_text("These are the first rows").is_visible()
    assert page.locator(".browser tbody tr").first.is_visible()
    context.close()


@pytest.mark.parametrize("name", [*RUNS, "hostile"])
def test_on_paper_everything_is_unfolded_and_light(browser: Any, reports: dict[str, Path], name: str) -> None:
    with opened(browser, reports[name], 1280, "dark") as page:
        page.wait_for_selector(".browser[data-ready=yes]")
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator(".browser").is_visible()
        assert page.pdf(format="A4").startswith(b"%PDF")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        # The width of A4 between its margins: nothing on it is cut.
        page.set_viewport_size({"width": 718, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == 718


def test_hostile_texts_do_nothing_and_are_shown(browser: Any, reports: dict[str, Path]) -> None:
    for name in ("hostile", "compare", "generate"):
        with opened(browser, reports[name]) as page:
            page.wait_for_selector(".browser[data-ready=yes]")
            page.evaluate(UNFOLD)
            assert page.locator("img").count() == 0
            assert "taken over" not in page.title()
            assert "\x1b" not in page.content()
            assert page.locator("pre", has_text="<script>").count() > 0


def test_a_csv_is_had_without_a_server(browser: Any, reports: dict[str, Path], tmp_path: Path) -> None:
    with opened(browser, reports["compare"]) as page:
        with page.expect_download() as download:
            page.locator("a[download]").first.click()
        download.value.save_as(tmp_path / "figure.csv")
    assert (tmp_path / "figure.csv").read_text().startswith("ID,rank,")
