"""Everything that can be done with a run folder: each verb of the command line and of Python, and each page of the dashboard."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import overnight
from hardening.calls import complaint_about
from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from serving.runs_to_show import Looker

TYPED: dict[str, tuple[str, ...]] = {
    "status": ("status", "fruit"),
    "status --json": ("status", "--json"),
    "status --check": ("status", "fruit", "--check"),
    "results": ("results", "fruit"),
    "results --failed": ("results", "fruit", "--failed", "--json"),
    "results -o": ("results", "fruit", "-o", "rows.csv"),
    "rebuild": ("rebuild", "fruit"),
    "verify": ("verify", "fruit"),
    "verify --json": ("verify", "fruit", "--json"),
    "costs": ("costs", "fruit"),
    "costs --json": ("costs", "fruit", "--json"),
    "report": ("report", "fruit", "-o", "page.html"),
    "resume": ("resume", "fruit", "--once"),
    "resume all": ("resume", "--once", "--json"),
    "run": ("run", "study.yaml", "--timeout", "3s"),
    "run --as": ("run", "study.yaml", "--as", "other", "--timeout", "3s"),
    "run --reask": ("run", "study.yaml", "--reask", "damaged", "--timeout", "3s"),
    "plan": ("plan", "study.yaml", "--show", "1"),
    "submit": ("submit", "study.yaml", "--timeout", "2s"),
    "cancel": ("cancel", "fruit", "--timeout", "2s"),
    "resolve": ("resolve", "fruit", "--shard", "1", "--none"),
    "resolve --forget": ("resolve", "fruit", "--forget", "batch_1"),
    "adopt --shard": ("adopt", "--shard", "fruit:1", "batch_1"),
    "adopt --token": ("adopt", "openai", "--token", "oabcdefghijklmnopqrst", "--timeout", "2s"),
    "rank-pairs": ("rank-pairs", "runs/fruit"),
    "models": ("models", "gpt-4.1"),
}
# Those that ask no provider, as a program calls them.
CALLED: dict[str, Callable[[], Any]] = {
    "overnight.status": lambda: overnight.status("fruit"),
    "overnight.results": lambda: overnight.results("fruit"),
    "overnight.results(failed)": lambda: overnight.results("fruit", failed=True),
    "overnight.costs": lambda: overnight.costs("fruit"),
    "overnight.rebuild": lambda: overnight.rebuild("fruit"),
    "overnight.report": lambda: overnight.report("fruit"),
    "overnight.verify": lambda: overnight.verify("fruit"),
    "overnight.cancel": lambda: overnight.cancel("fruit", timeout=2),
    "overnight.resume": lambda: overnight.resume("fruit", once=True),
    "overnight.run": lambda: overnight.run("study.yaml", timeout=3),
}
PAGES = (
    "/", "/accounts", "/run/fruit", "/run/fruit/rows", "/run/fruit/item?id=1", "/run/fruit/raw?id=1", "/run/fruit/arms", "/run/fruit/resume",
    "/run/fruit/cancel",
)  # fmt: skip


def verbs() -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from TYPED.items()
    yield from ((name, ("python", name)) for name in CALLED)
    yield "serve", ("serve",)


def called(name: str) -> tuple[int, str]:
    """As an exit code and what was said: a program is told in one error of ours, or gets its answer."""
    told = complaint_about(CALLED[name])
    return (0, "") if told is None else (1, f"{name}: {told}")


def looked_at() -> tuple[int, str]:
    """Every page of a dashboard over the damaged folder: each is shown, or says what is wrong."""
    with Dashboard(settings(runs=Path("runs")), port=0) as dashboard:
        looker = Looker(dashboard.address)
        for page in PAGES:
            try:
                shown = looker.get(page)
            except (OSError, http.client.HTTPException) as error:
                return 1, f"{page}: {error!r}"
            if shown.status >= 500:
                return 1, f"{page}: {shown.status}: {shown.text[-300:]}"
    return 0, ""
