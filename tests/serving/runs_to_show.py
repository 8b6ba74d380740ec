"""Runs of several kinds with a hostile text in every place that a stranger can fill, and somebody who looks at them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

HOSTILE = (
    "<script>document.title='taken over'</script><img src=x onerror=alert(1)> \x1b[31m \u202eabc\u202c </pre>&amp;"
)
HOSTILE_ID = "<b>item</b> \u202e'\"&?#/%"
MODELS = ["openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5"]


def make_runs(folder: Path) -> Path:
    """`answers`, `pairs`, `talk` and `spec`; the folder that they lie in."""
    import overnight

    items = [{"id": f"essay {at}", "text": f"Essay {at} is about winter. {HOSTILE}"} for at in range(4)]
    items.append({"id": HOSTILE_ID, "text": "Essay of a stranger."})
    questions = [{"id": f"q{at}", "question": f"Is {at} a prime?"} for at in (1, 2)]
    talk = {
        "name": "talk",
        "task": "pressure",
        "items": questions,
        "design": "escalation",
        "levels": 2,
        "models": MODELS,
    }
    studies = [
        overnight.Study(name="answers", task="generate", items=items, models=MODELS, prompt="Repeat: {text}"),
        overnight.Study(
            name="pairs", task="compare", items=items[:3], models=MODELS, pairs={"reverse": 1.0}, explanation=True
        ),
        overnight.Study(name="talk", stages=[talk]),
        spec_study(folder),
    ]
    truth = folder / "truth.yaml"
    # JSON is YAML.
    truth.write_text(
        json.dumps({"answer_with": {"Repeat: Essay": HOSTILE}, "latency": {"batch": [60, 600], "live": [0, 0]}})
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERNIGHT_TIME_SCALE", "6000")
        patch.chdir(folder)
        for study in studies:
            overnight.run(study, emulate=True, truth=truth, runs=folder / "runs")
    return folder / "runs"


def spec_study(folder: Path) -> Any:
    """Answers to two statements, compared with each other and held to these: later stages about earlier answers."""
    import overnight

    rules = [
        {"id": f"rule_{at}", "text": f"Rule {at}: {HOSTILE}", "type": "PROHIBITION", "authority_level": "USER", "section": f"<i>part {at}</i> {HOSTILE}"}
        for at in range(2)
    ]  # fmt: skip
    (folder / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    (folder / "inputs").mkdir(exist_ok=True)
    for rule in rules:
        asked = {"inputs": [f"What about {rule['id']}? {HOSTILE}"]}
        (folder / "inputs" / f"{rule['id']}.json").write_text(json.dumps(asked))
    answers = {"name": "answers", "task": "generate", "spec": "rules.jsonl", "inputs": "inputs", "models": MODELS}
    judge = ["openai/gpt-4.1"]
    rank = {"name": "rank", "task": "rank", "of": "answers", "models": judge}
    comply = {"name": "comply", "task": "comply", "of": "answers", "models": judge}
    return overnight.Study(name="spec", stages=[answers, rank, comply])


class Shown:
    """An answer of the dashboard."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()


class Looker:
    """Somebody with the address: asks as a browser does, and sends what it is told to send."""

    def __init__(self, address: str, *, welcome: bool = True) -> None:
        self._address = urlsplit(address)
        self.host = self._address.netloc
        self.cookie = ""
        if welcome:
            found = self.get("/?" + self._address.query)
            self.cookie = found.headers["Set-Cookie"].partition(";")[0]

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: object) -> Shown:
        given = f"{path}?{urlencode(query)}" if query else path
        return self._ask("GET", given, {**({"Cookie": self.cookie} if self.cookie else {}), **(headers or {})}, "")

    def post(self, path: str, headers: Mapping[str, str] | None = None, **form: str) -> Shown:
        usual = {
            "Cookie": self.cookie,
            "Origin": f"http://{self.host}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        sent = {name: value for name, value in {**usual, **(headers or {})}.items() if value}
        return self._ask("POST", path, sent, urlencode(form))

    def ask(self, method: str, path: str) -> Shown:
        return self._ask(method, path, {"Cookie": self.cookie, "Origin": f"http://{self.host}"}, "")

    def _ask(self, method: str, path: str, headers: Mapping[str, str], body: str) -> Shown:
        host, _, port = self.host.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        try:
            connection.request(method, path, body or None, dict(headers))
            return Shown(connection.getresponse())
        finally:
            connection.close()
