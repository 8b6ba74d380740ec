"""What notebooks show: dollars, whole batch ids, and nothing that a hostile name could run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

import overnight
from overnight.api import ArmPlan, ArmStatus, Plan, Run, RunStatus
from overnight.api.notebook.html import progress_html, table_html, text_html
from overnight.api.plans.planned import Shown
from overnight.api.status import Statuses
from overnight.engine.progress import BatchLine, Snapshot

HOSTILE = "<script>alert('x')</script><img src=x onerror=y>"
ALLOWED = {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """The tags of a page and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def batch(**changes: object) -> BatchLine:
    line = BatchLine(
        shard=1, attempt=1, arm=HOSTILE, state="running", status=HOSTILE, batch_id=f"batch_{'a' * 60}", rows=4,
        completed=1, failed=0, message=None, submitted_at=None,
    )  # fmt: skip
    return msgspec.structs.replace(line, **changes)


def snapshot(**changes: object) -> Snapshot:
    one = Snapshot(
        run=HOSTILE, total=8, answered=3, refused=0, truncated=0, failed=1, pending=4, ahead=2, batches=(batch(),),
        input_tokens=10, output_tokens=20, spent=12_345_678_900, presumed=0, priced="all", seconds_left=1200.0,
        trouble=HOSTILE,
    )  # fmt: skip
    return msgspec.structs.replace(one, **changes)


def status(name: str = HOSTILE, **changes: object) -> RunStatus:
    arm = ArmStatus(
        stage=HOSTILE, arm=HOSTILE, provider="openai", model=HOSTILE, rows=8, answered=3, refused=0, truncated=0,
        failed=1, pending=4,
    )  # fmt: skip
    one = RunStatus(
        run=name, path=".", begun_at="", cancelled=False, arms=(arm, arm), batches=(batch(), batch(state="closed")),
        waiting_shards=0, causes={}, spent=2_500_000_000, reserved=1_000_000_000, priced="all", left_out=(HOSTILE,),
    )  # fmt: skip
    return msgspec.structs.replace(one, **changes)


def plan() -> Plan:
    arms = [
        ArmPlan(stage="s", arm=f"a{n}", provider="openai", model=HOSTILE, rows=2, requests=2, expected=10**9 * n)
        for n in (1, 2)
    ]
    other = ArmPlan(stage="s", arm="b", provider="openai", model="other", rows=5, requests=5)
    shown = Shown(arm="a1", item=HOSTILE, request={"prompt": HOSTILE})
    return Plan(study=HOSTILE, arms=(*arms, other), notes=(HOSTILE,), shown=(shown,), written=(HOSTILE,))


def run(state: str = "running") -> Run:
    return Run(name=HOSTILE, path=Path(), state=state, message=f"{HOSTILE}\nand more", snapshot=snapshot())


PAGES = {
    "progress": progress_html(snapshot()),
    "run": run()._repr_html_(),
    "plan": plan()._repr_html_(),
    "status": status()._repr_html_(),
    "statuses": Statuses([status(), status("b", trouble=HOSTILE)])._repr_html_(),
    "trouble": status(trouble=HOSTILE)._repr_html_(),
}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_hostile_gets_through(name: str) -> None:
    page = Reader(PAGES[name])
    assert page.tags <= ALLOWED
    assert page.names <= {"style"}
    assert "alert('x')" in page.text, "it is shown as it is"
    assert "$" not in PAGES[name], "which a page might take for a formula"


def test_money_is_in_dollars_and_ids_are_whole() -> None:
    assert "$12.35 spent" in Reader(PAGES["progress"]).text
    assert "$12.35 spent" in Reader(PAGES["run"]).text
    assert "$2.50 spent; $1.00 set aside" in Reader(PAGES["status"]).text
    assert all(f"batch_{'a' * 60}" in PAGES[name] for name in ("progress", "run", "status"))
    free = progress_html(snapshot(priced="none", spent=0))
    assert "cost unknown: no prices" in free


def test_a_plan_is_summed_by_model_and_unknown_is_unknown() -> None:
    text = re.sub(r"\s+", " ", Reader(PAGES["plan"]).text)
    assert "4 4 0 0 0 $3.00 $3.00 unknown" in text
    assert "all 9 9 0 0 0 unknown unknown unknown" in text


def test_the_bar_and_the_time_that_is_left() -> None:
    page = progress_html(snapshot(), 600.0)
    assert [float(width) for width in re.findall(r"width:([\d.]+)%", page)] == [37.5, 12.5, 25.0, 25.0]
    assert "4 of 8 rows" in page
    assert "about 2s left" in page


def test_long_tables_and_texts_are_cut_with_a_word() -> None:
    page = table_html(("n",), [(n,) for n in range(1_000)])
    assert page.count("<tr>") == 31
    assert "and 970 more lines" in page
    assert len(text_html("x" * 5_000)) == 200


def test_what_is_printed_is_short() -> None:
    assert repr(run()) == f"Run({HOSTILE!r}, running: 3 answered, 1 failed, 4 pending)"
    assert repr(status("a")) == "RunStatus('a', 6 answered, 2 failed, 8 pending)"
    assert repr(status("a", trouble="damaged")) == "RunStatus('a', damaged)"
    assert repr(plan()).endswith("9 requests, about unknown, 90% unknown, at most unknown)")


def test_a_study_does_not_print_its_items() -> None:
    items = [{"id": str(n), "text": "a long text"} for n in range(500)]
    long = "Describe {text}. " * 50
    study = overnight.Study(name="s", task="generate", items=items, prompt=long, models=["openai/gpt-4.1"])
    shown = repr(study)
    assert len(shown) < 300
    assert "items=<500 entries>" in shown
    assert "models=['openai/gpt-4.1']" in shown
