"""The dashboard as people use it: every screen, wide and narrow, by day and by night, with a keyboard, live."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import overnight
from browser.test_reports import AXE
from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from serving.runs_to_show import HOSTILE_ID, MODELS, make_runs

ARM = "prompt__openai__gpt-4.1-mini__default__forward"
RAW = {"id": "essay 1", "arm": ARM, "stage": "generate", "replicate": 0}
SCREENS = {
    "runs": "/",
    "run": "/run/answers",
    "rows": "/run/answers/rows",
    "search": "/run/answers/rows?q=script",
    "item": "/run/answers/item?id=essay+1",
    "hostile item": "/run/answers/item?" + urlencode({"id": HOSTILE_ID}),
    "raw": "/run/answers/raw?" + urlencode(RAW),
    "pair": "/run/pairs/item?id=essay+1%3Aessay+0",
    "conversation": "/run/talk/item?id=q1",
    "answers with later stages": "/run/spec/item?id=rule_0_0",
    "judged": "/run/spec/item?" + urlencode({"id": "rule_0_0@input__openai__gpt-4.1-mini__default__forward"}),
    "compared": "/run/spec/item?" + urlencode({"id": f"rule_0_0|{MODELS[1]}|{MODELS[0]}"}),
    "two arms": "/run/answers/arms?measure=status%3Danswered&cell=both",
    "numbers of two arms": "/run/answers/arms?measure=length",
    "accounts": "/accounts",
    "refused": "/run/answers/cancel",
    "confirm": "/run/waits/resume",
    "waiting": "/run/waits",
    "damaged": "/run/damaged",
}


@pytest.fixture(scope="module")
def dashboard(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("dashboard")
    runs = make_runs(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERNIGHT_TIME_SCALE", "1")
        patch.chdir(folder)
        items = [{"id": "1", "text": "fruit"}]
        waits = overnight.Study(
            name="waits", task="generate", items=items, models=["openai/gpt-4.1-mini"], prompt="{text}"
        )
        overnight.submit(waits, emulate=True, runs=runs)
    (runs / ".rehearsal" / "damaged").mkdir()
    (runs / ".rehearsal" / "damaged" / "ledger.db").write_text("this is no ledger")
    with Dashboard(settings(runs=runs, emulate=True), port=0) as found:
        yield found


@contextmanager
def opened(
    browser: Any, dashboard: Dashboard, path: str, width: int = 1280, scheme: str = "light", **more: Any
) -> Iterator[Any]:
    """A page after the token was given, and what it complained of or asked others for."""
    base = dashboard.address.partition("/?")[0]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
    page.on("request", lambda one: None if one.url.startswith((f"{base}/", "data:")) else troubles.append(one.url))
    page.goto(dashboard.address)
    page.wait_for_url(f"{base}/")
    page.goto(base + path)
    yield page
    context.close()
    assert troubles == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")])
def test_every_screen_fits_and_asks_nobody_else(browser: Any, dashboard: Dashboard, width: int, scheme: str) -> None:
    base = dashboard.address.partition("/?")[0]
    with opened(browser, dashboard, "/", width, scheme) as page:
        for name, path in SCREENS.items():
            found = page.goto(base + path)
            assert found.status == 200, name
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            assert page.evaluate("document.documentElement.scrollWidth") == width, name
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == ("rgb(18, 22, 29)" if scheme == "dark" else "rgb(255, 255, 255)")
            assert "taken over" not in page.title()
            assert page.locator("img").count() == 0


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "dark")])
def test_those_who_cannot_see_it_can_read_it(browser: Any, dashboard: Dashboard, width: int, scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("make browser installs axe-core")
    base = dashboard.address.partition("/?")[0]
    with opened(browser, dashboard, "/", width, scheme, bypass_csp=True) as page:
        for name, path in SCREENS.items():
            page.goto(base + path)
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            page.add_script_tag(path=str(AXE))
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            serious = [
                (one["id"], one["nodes"][0]["html"])
                for one in found["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            assert serious == [], name


def test_on_paper_it_is_light_and_fits(browser: Any, dashboard: Dashboard) -> None:
    base = dashboard.address.partition("/?")[0]
    with opened(browser, dashboard, "/", 718, "dark") as page:  # the width of A4 between its margins
        for name, path in SCREENS.items():
            page.goto(base + path)
            page.emulate_media(media="print")
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", name
            assert page.evaluate("document.documentElement.scrollWidth") == 718, name
            page.emulate_media(media="screen")


def test_it_works_by_keyboard(browser: Any, dashboard: Dashboard) -> None:
    with opened(browser, dashboard, "/run/answers/rows") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"

        def at() -> str:
            return str(page.evaluate("document.activeElement.textContent"))

        page.keyboard.press("j")
        first = at()
        page.keyboard.press("j")
        assert at() != first
        page.keyboard.press("k")
        assert at() == first
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "q"
        page.keyboard.type("essay 2 jk")
        assert page.evaluate("document.activeElement.value") == "essay 2 jk"  # keys are for typing there
        for _ in range(3):
            page.keyboard.press("Backspace")
        page.keyboard.press("Enter")
        page.wait_for_url("**/rows?q=essay+2*")
        assert "stage=" not in page.url
        assert page.locator("a.row").count() == 2
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/item?id=essay+2*")
        page.keyboard.press("n")
        page.wait_for_url("**/item?id=essay+3*")
        page.keyboard.press("p")
        page.wait_for_url("**/item?id=essay+2*")


def test_two_pages_follow_a_run_that_grows(browser: Any, dashboard: Dashboard, tmp_path: Path) -> None:
    items = [{"id": str(at), "text": f"fruit {at}"} for at in range(3)]
    study = overnight.Study(name="grows", task="generate", items=items, models=["openai/gpt-4.1-mini"], prompt="{text}")
    runs = dashboard._records.settings.runs

    def work(limit: int | None) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OVERNIGHT_TIME_SCALE", "6000")
            overnight.run(study, emulate=True, runs=runs, limit=limit)

    work(1)
    with opened(browser, dashboard, "/") as every, opened(browser, dashboard, "/run/grows") as one:
        assert every.locator("li", has_text="grows").get_by_text("100% of 1 row").is_visible()
        one.locator("details summary").first.click()
        work(None)
        every.locator("li", has_text="grows").get_by_text("100% of 3 rows").wait_for()
        one.get_by_text("All 3 rows were answered.").wait_for()
        assert one.evaluate("document.querySelector('details').open")  # what was unfolded stays so


def test_without_scripts_everything_is_there(browser: Any, dashboard: Dashboard) -> None:
    with opened(browser, dashboard, "/run/answers/rows", java_script_enabled=False) as page:
        page.get_by_label("search in answers and items").fill("essay 2")
        page.get_by_role("button", name="Show").click()
        assert page.locator("a.row").count() == 2
        page.locator("a.row").first.click()
        assert page.locator("article").count() == 2


def test_a_dashboard_that_has_ended_is_said(browser: Any, tmp_path: Path) -> None:
    with Dashboard(settings(runs=tmp_path, emulate=True), port=0) as gone:
        context = browser.new_context()
        page = context.new_page()
        page.goto(gone.address)
        page.get_by_text("There are no runs").wait_for()
    page.get_by_text("Not live: the dashboard does not answer.").wait_for()
    context.close()
