"""A study and a run folder of a stranger's making: what they may do without the user's word, on every way in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import overnight
from hardening.good_studies import write_files
from ledger.damage import edit, found
from overnight import consent
from overnight.cli import main
from overnight.core.errors import ConsentNeeded
from overnight.ledger.ledger import open_ledger
from overnight.store.run_folder import RunFolder
from scenarios.conftest import Scenario

pytestmark = pytest.mark.in_folder("what may lie in it")

SECRET = "-----BEGIN PRIVATE KEY-----"
ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


class Elsewhere:
    """A server that keeps what it is sent. Its address is this machine's by a name that does not say so."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                heard.append(f"{self.headers}\n{body.decode()}")
                answer = json.dumps(ANSWER).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"0.0.0.0:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    server = Elsewhere()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    consent.forget()
    yield tmp_path / "config" / "overnight" / "allowed.json"
    consent.forget()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a stranger's study in it, and a secret beside it."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (tmp_path / "id_rsa.txt").write_text(f"{SECRET} {{text}}")
    (folder / "items.csv").write_text("id,text\n1,apples\n")
    return folder


def write(folder: Path, **fields: Any) -> Path:
    study = {
        "name": "theirs",
        "task": "generate",
        "items": "items.csv",
        "prompt": "Tell me of {text}.",
        "models": ["openai/gpt-4.1-mini"],
        "mode": "live",
        **fields,
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps({key: value for key, value in study.items() if value is not None}))
    return path


def cli(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "AWS_SECRET_ACCESS_KEY": "aws-0123456789", **environ}
    command = [sys.executable, "-m", "overnight", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )


def assert_refused(ended: subprocess.CompletedProcess[str], *words: str) -> None:
    assert ended.returncode == 2, ended
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    for word in words:
        assert word in ended.stderr


@pytest.mark.parametrize("verb", [["run"], ["submit"]])
def test_an_address_is_not_called_without_a_word(home: Path, elsewhere: Elsewhere, verb: list[str]) -> None:
    url = f"http://{elsewhere.host}/v1"
    study = write(home, mode="auto", models=[{"model": "compatible/m", "base_url": url}])
    assert_refused(cli(*verb, str(study), cwd=home), "--allow-host", elsewhere.host)
    assert elsewhere.heard == []
    assert not (home / "runs").exists()


def test_a_word_by_name_is_remembered_for_the_user_and_not_in_the_run(
    home: Path, elsewhere: Elsewhere, config: Path
) -> None:
    study = write(home, models=[{"model": "compatible/m", "base_url": f"http://{elsewhere.host}/v1"}])
    ended = cli("run", str(study), "--allow-host", elsewhere.host, cwd=home)
    assert ended.returncode == 0, ended
    assert len(elsewhere.heard) == 1
    assert elsewhere.host in config.read_text()
    assert cli("run", str(study), "--as", "again", cwd=home).returncode == 0
    config.unlink()
    # The run itself says nothing of it: in another user's hands it has to be asked for again.
    assert_refused(cli("resume", "theirs", cwd=home), "--allow-host")
    # What is finished needs nobody to be called.
    heard = len(elsewhere.heard)
    assert "is finished" in cli("cancel", "theirs", cwd=home).stderr
    assert len(elsewhere.heard) == heard


@pytest.mark.parametrize("key", ["AWS_SECRET_ACCESS_KEY", "PATH"])
def test_other_secrets_are_never_keys(home: Path, elsewhere: Elsewhere, key: str) -> None:
    models = [{"model": "compatible/m", "base_url": f"http://{elsewhere.host}/v1", "key": key}]
    ended = cli("run", str(write(home, models=models)), "--allow-host", elsewhere.host, cwd=home)
    assert_refused(ended, f"{key} does not look like a key")
    assert elsewhere.heard == []


WAYS_OUT: dict[str, Mapping[str, Any]] = {
    "templates": {"prompt": None, "templates": ["../id_rsa.txt"]},
    "items": {"items": "../id_rsa.txt"},
    "folder": {"items": ".."},
    "link": {"prompt": None, "templates": ["link.txt"]},
    "links in a folder": {"items": "texts"},
    "prices": {"prices": "../id_rsa.txt"},
    "pairs": {"task": "compare", "prompt": None, "pairs": {"list": "../pairs.csv"}},
    "schema": {"models": [{"model": "openai/gpt-4.1-mini", "json_schema": "../schema.json"}]},
    "env file": {"prompt": None, "templates": [".env"]},
    "later stage": {
        **dict.fromkeys(("task", "items", "prompt", "models")),
        "stages": [
            {"name": "a", "task": "generate", "items": "items.csv", "prompt": "{text}", "models": ["openai/gpt-4.1"]},
            {"name": "b", "task": "generate", "of": "a", "templates": ["../id_rsa.txt"], "models": ["openai/gpt-4.1"]},
        ],
    },
}


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("verb", [["run"], ["plan"], ["plan", "--show", "1"], ["run", "--emulate"]], ids=" ".join)
def test_no_file_outside_the_folder_is_read_without_a_word(home: Path, way: str, verb: list[str]) -> None:
    (home / "link.txt").symlink_to("../id_rsa.txt")
    (home / ".env").write_text("OPENAI_API_KEY=sk-0123456789abcdef\n")
    (home / "texts").mkdir()
    (home / "texts" / "a.txt").symlink_to("../../id_rsa.txt")
    (home.parent / "pairs.csv").write_text("ID1,ID2\n1,1\n")
    (home.parent / "schema.json").write_text("{}")
    ended = cli(*verb, str(write(home, **WAYS_OUT[way])), cwd=home, OPENAI_API_KEY="sk-test-0123456789")
    assert_refused(ended, "--allow-path /")
    assert SECRET not in ended.stdout + ended.stderr


_MODELS = ["openai/gpt-4.1-mini"]
_JUDGED = {**dict.fromkeys(("items", "prompt")), "task": "grade", "spec": "rules.jsonl", "models": _MODELS}
_FOLDERS = {"candidates": {"one": "one", "two": "two"}}
# Each names a place outside, or a place inside with a link in it.
OTHER_WAYS_OUT: dict[str, Mapping[str, Any]] = {
    "spec": {**_JUDGED, **_FOLDERS, "spec": "../outside/rules.jsonl"},
    "spec, a link": {**_JUDGED, **_FOLDERS, "spec": "linked.jsonl"},
    "inputs": {**_JUDGED, "task": "generate", "inputs": "../outside/inputs"},
    "inputs, a linked folder": {**_JUDGED, "task": "generate", "inputs": "linked-inputs"},
    "inputs, links in the folder": {**_JUDGED, "task": "generate", "inputs": "inputs-with-links"},
    "candidates": {**_JUDGED, "candidates": {"one": "one", "two": "../outside/two"}},
    "candidates, a linked folder": {**_JUDGED, "candidates": {"one": "one", "two": "linked-two"}},
    "candidates, linked results": {**_JUDGED, "candidates": {"one": "one", "two": "two-with-linked-results"}},
    "candidates, links in the folder": {**_JUDGED, "candidates": {"one": "one", "two": "two-with-links"}},
    "prompt files": {**_JUDGED, **_FOLDERS, "prompt_files": "../outside/prompts"},
    "prompt files, links in the folder": {**_JUDGED, **_FOLDERS, "prompt_files": "prompts-with-links"},
    "inputs task": {**_JUDGED, "task": "inputs", "spec": "../outside/rules.jsonl", "judges": _MODELS},
}


@pytest.fixture
def with_links(home: Path) -> Path:
    """Specifications, inputs, answers and prompts inside and outside, and links from one to the other."""
    outside = home.parent / "outside"
    for place in (home, outside):
        place.mkdir(exist_ok=True)
        write_files(place)
    for name, target in {"linked.jsonl": "rules.jsonl", "linked-inputs": "inputs", "linked-two": "two"}.items():
        (home / name).symlink_to(outside / target)
    results = "20250506_115521/results"
    (home / "two-with-linked-results").mkdir()
    (home / "two-with-linked-results" / "results").symlink_to(outside / "two" / results)
    links = {"inputs-with-links": "inputs", "two-with-links": f"two/{results}", "prompts-with-links": "prompts"}
    for name, target in links.items():
        (home / name).mkdir()
        for file in (outside / target).iterdir():
            (home / name / file.name).symlink_to(file)
    return home


@pytest.mark.parametrize("way", OTHER_WAYS_OUT)
def test_no_other_key_leads_out_without_a_word(
    with_links: Path, way: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(with_links)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    study = write(with_links, **{"mode": None, **OTHER_WAYS_OUT[way]})
    assert main(["plan", str(study), "--show", "1"]) == 2
    assert "--allow-path /" in capfd.readouterr().err
    overnight.allow(paths=[with_links.parent / "outside"])
    assert main(["plan", str(study), "--show", "1"]) == 0, capfd.readouterr().err


def test_a_word_for_a_path_is_remembered(home: Path, config: Path) -> None:
    study = str(write(home, prompt=None, templates=["../id_rsa.txt"]))
    shown = cli("plan", study, "--show", "1", "--allow-path", str(home.parent / "id_rsa.txt"), cwd=home)
    assert shown.returncode == 0, shown
    assert SECRET in shown.stdout
    assert cli("plan", study, cwd=home).returncode == 0
    assert str(home.parent / "id_rsa.txt") in config.read_text()


def test_what_the_user_types_or_programs_is_a_word(
    scenario: Callable[..., Scenario], home: Path, elsewhere: Elsewhere
) -> None:
    flags = ["--items", "../id_rsa.txt", "--prompt", "{text}", "--model", "openai/gpt-4.1", "--emulate"]
    assert cli("generate", *flags, cwd=home).returncode == 0
    study = overnight.Study(
        name="mine",
        task="generate",
        items=str(home.parent / "id_rsa.txt"),
        prompt="{text}",
        mode="live",
        models=[{"model": "compatible/m", "base_url": f"http://{elsewhere.host}/v1"}],
    )
    assert overnight.run(study, runs=home / "runs").state == "done"
    assert len(elsewhere.heard) == 1
    assert overnight.resume("mine", runs=home / "runs")[0].state == "done"


def test_python_is_refused_with_the_line_that_allows(home: Path, elsewhere: Elsewhere) -> None:
    study = write(home, models=[{"model": "compatible/m", "base_url": f"http://{elsewhere.host}/v1"}])
    with pytest.raises(ConsentNeeded, match=r"overnight\.allow\(hosts="):
        overnight.run(study, runs=home / "runs")
    with pytest.raises(ConsentNeeded, match=r"overnight\.allow\(hosts="):
        overnight.run(overnight.Study.load(study), runs=home / "runs")
    overnight.allow(hosts=[elsewhere.host])
    assert overnight.run(study, runs=home / "runs").state == "done"


def test_an_env_file_redirects_no_key_but_its_own(home: Path, elsewhere: Elsewhere) -> None:
    (home / ".env").write_text("OPENAI_BASE_URL=https://evil.example/v1\nHOLD=${HOME}\n")
    ended = cli("run", str(write(home)), cwd=home, OPENAI_API_KEY="sk-own-0123456789")
    assert_refused(ended, "evil.example", "as .env says", "--allow-host evil.example")
    # `keys` would send it too.
    assert "evil.example" in cli("keys", cwd=home, OPENAI_API_KEY="sk-own-0123456789").stdout
    (home / ".env").write_text(f"COMPATIBLE_BASE_URL=http://{elsewhere.host}/v1\n")
    ended = cli("run", str(write(home, models=["compatible/m"])), cwd=home)
    assert_refused(ended, elsewhere.host)
    assert elsewhere.heard == []


def test_an_env_file_does_not_interpolate(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".env").write_text("OPENAI_API_KEY=${AWS_SECRET_ACCESS_KEY}\nPATH=/evil\nLAB_KEY='a b'\n")
    monkeypatch.chdir(home)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-0123456789")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    from overnight.settings import settings

    place = settings(environ={})
    assert place.environ == {"OPENAI_API_KEY": "${AWS_SECRET_ACCESS_KEY}", "LAB_KEY": "a b"}
    assert place.env_file == {"OPENAI_API_KEY", "LAB_KEY"}


def test_a_strangers_run_sends_nothing_anywhere(scenario: Callable[..., Scenario], elsewhere: Elsewhere) -> None:
    """The run is sent by its maker, edited, and handed on: `resume` would send the rest elsewhere."""
    one = scenario()
    study = one.study(6, mode="live")
    assert one.run(study).state == "done"
    folder = one.folder / "runs" / "night"
    ((text,),) = found(folder, "SELECT definition FROM arm")
    arm = json.loads(text)
    arm["model"] |= {"provider": "compatible", "base_url": f"http://{elsewhere.host}/v1"}
    edit(folder, "UPDATE arm SET definition=?", json.dumps(arm))
    with open_ledger(RunFolder(folder)) as ledger:
        ledger.write("reask", lambda tx: tx.answers.unsettle(("answered",))).result()
    for verb in (["resume", "night"], ["resume"], ["resume", "--once"], ["cancel", "night"]):
        ended = cli(*verb, cwd=one.folder, OPENAI_API_KEY="sk-test-0123456789")
        assert ended.returncode == 2, ended
        assert "--allow-host" in ended.stderr
    arm["model"] |= {"key": "AWS_SECRET_ACCESS_KEY"}
    edit(folder, "UPDATE arm SET definition=?", json.dumps(arm))
    ended = cli("resume", "night", "--allow-host", elsewhere.host, cwd=one.folder)
    assert ended.returncode == 2
    assert "AWS_SECRET_ACCESS_KEY does not look like a key" in ended.stderr
    assert elsewhere.heard == []
    shutil.rmtree(folder)


def test_a_strangers_folder_leads_nowhere_through_adopt(
    scenario: Callable[..., Scenario], elsewhere: Elsewhere
) -> None:
    """Their run has the name that adopting a batch of ours would give it: its rows, keys and files stay where they are."""
    one = scenario()
    assert one.run(one.study(6)).state == "done"
    batch = one.attempts()["batch_id"][0]
    assert one.call("adopt", "openai", batch, as_name="theirs", environ=one.going_on).state == "done"
    folder = one.folder / "runs" / "theirs"
    ours = {"OPENAI_API_KEY": "sk-test-0123456789", "OPENAI_BASE_URL": one.emulator.openai_url}
    ways = (["adopt", "openai", batch, "--as", "theirs"], ["adopt", "openai", batch, "--as", "theirs", "--once"])

    raw = folder / "raw"
    raw.rename(one.folder / "elsewhere")
    raw.symlink_to(one.folder / "elsewhere")
    for way in ways:
        ended = cli(*way, "--raw", "copy.jsonl", cwd=one.folder, **ours)
        assert_refused(ended, "theirs/raw is a symbolic link")
        assert not (one.folder / "copy.jsonl").exists()
    raw.unlink()
    (one.folder / "elsewhere").rename(raw)

    ((text,),) = found(folder, "SELECT definition FROM arm")
    arm = json.loads(text)
    arm["model"] |= {"provider": "compatible", "base_url": f"http://{elsewhere.host}/v1"}
    edit(folder, "UPDATE arm SET definition=?", json.dumps(arm))
    with open_ledger(RunFolder(folder)) as ledger:
        ledger.write("reask", lambda tx: tx.answers.unsettle(("answered",))).result()
    for way in ways:
        assert_refused(cli(*way, cwd=one.folder, **ours), "--allow-host")
    arm["model"] |= {"provider": "openai", "base_url": None, "key": "AWS_SECRET_ACCESS_KEY"}
    edit(folder, "UPDATE arm SET definition=?", json.dumps(arm))
    for way in ways:
        ended = cli(*way, "--allow-host", elsewhere.host, cwd=one.folder, **ours)
        assert_refused(ended, "AWS_SECRET_ACCESS_KEY does not look like a key")
    edit(folder, "UPDATE attempt SET token='../../x'")
    for way in (*ways, ["adopt", "--shard", "theirs:1", batch]):
        assert_refused(cli(*way, cwd=one.folder, **ours), "has the token '../../x'")
    assert elsewhere.heard == []
