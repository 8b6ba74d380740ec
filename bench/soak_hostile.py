"""A soaked study of a stranger's making: it wants a secret, a file, or an address that is not its own.

Without a word from the user it is refused with words; nothing is sent, nothing is kept, and the secret is nowhere.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
from soaked_run import Child, surroundings

from emulator_process import EmulatorProcess

SECRET = "the-secret-that-must-not-travel-0123456789"
_PLAIN = {"name": "theirs", "task": "generate", "items": "items.csv", "prompt": "Say {text}", "models": []}
_ADDRESSES = ("https://collector.example/v1", "http://0.0.0.0:9/v1", "http://[2001:db8::1]/v1", "https://192.0.2.7/v1")
_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "HOME", "PATH", "SSH_AUTH_SOCK")
_PATHS = ("../secret.txt", "{outside}/secret.txt", "link.txt", "inner/../../secret.txt", "linked/secret.txt")


class HostileSchedule(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    verb: str
    study: dict[str, Any]


def hostile_schedule(seed: int) -> HostileSchedule:
    draw = random.Random(f"hostile {seed}")
    study: dict[str, Any] = {**_PLAIN, "models": ["openai/gpt-4.1-mini"], "mode": draw.choice(("batch", "live"))}
    want = draw.choice((_address, _variable, _path))
    want(draw, study)
    # A plan sends nothing to nobody, but it reads.
    verbs = ("run", "submit", "plan") if want is _path else ("run", "submit")
    return HostileSchedule(seed=seed, verb=draw.choice(verbs), study=study)


def _address(draw: random.Random, study: dict[str, Any]) -> None:
    model = draw.choice(("compatible/m", "openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5"))
    entry = {"model": model, "base_url": draw.choice(_ADDRESSES)}
    study["models"] = [{**entry, "key": draw.choice(_VARIABLES)} if draw.random() < 0.5 else entry]


def _variable(draw: random.Random, study: dict[str, Any]) -> None:
    study["models"] = [{"model": "openai/gpt-4.1-mini", "key": draw.choice(_VARIABLES)}]


def _path(draw: random.Random, study: dict[str, Any]) -> None:
    path = draw.choice(_PATHS)
    match draw.choice(("templates", "items", "prices", "schema", "pairs")):
        case "templates":
            study.pop("prompt")
            study["templates"] = [path]
        case "items":
            study["items"] = path
        case "prices":
            study["prices"] = path
        case "schema":
            study["models"] = [{"model": "openai/gpt-4.1-mini", "json_schema": path.replace(".txt", ".json")}]
        case _:
            study.pop("prompt")
            study |= {"task": "compare", "pairs": {"list": path.replace(".txt", ".csv")}}


def soak_hostile(plan: HostileSchedule, scratch: Path) -> tuple[list[str], list[str]]:
    """(what is wrong, the story)."""
    outside, home = scratch / "outside", scratch / "outside" / "theirs"
    home.mkdir(parents=True)
    (home / "inner").mkdir()
    for ending in (".txt", ".json", ".csv"):
        (outside / f"secret{ending}").write_text(f"{SECRET} {{text}}\n")
        (home / f"link{ending}").symlink_to(f"../secret{ending}")
    (home / "linked").symlink_to("..")
    (home / "items.csv").write_text("id,text\n1,apples\n2,pears\n")
    (home / "study.yaml").write_text(json.dumps(plan.study).replace("{outside}", str(outside)))
    with EmulatorProcess({"time_scale": 20_000, "latency": {"batch": [60, 600], "live": [0, 0]}}) as emulator:
        told = Child(lambda: _tried(plan, emulator, home)).wait()
        log = emulator.log()
    found = []
    if told is None or told.get("error") in (None, "crash"):
        found.append(f"it was not refused: {told}")
    if log["calls"]:
        found.append(f"{len(log['calls'])} calls were made")
    kept = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink() and path.name != "study.yaml"]
    found += [f"{path.name} holds the secret" for path in kept if SECRET.encode() in path.read_bytes()]
    if told is not None and SECRET in str(told):
        found.append("the words hold the secret")
    return found, [f"{plan.verb} {json.dumps(plan.study)}: {told}"]


def _tried(plan: HostileSchedule, emulator: EmulatorProcess, home: Path) -> dict[str, Any]:
    import os
    import traceback

    from overnight import api
    from overnight.core.errors import OvernightError

    surroundings(emulator, 20_000)
    os.environ.update(dict.fromkeys((name for name in _VARIABLES if name.isupper() and "_" in name), SECRET))
    os.environ["XDG_CONFIG_HOME"] = str(home.parent / "config")
    os.chdir(home)
    try:
        outcome: Any = getattr(api, plan.verb)("study.yaml")
    except OvernightError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except BaseException:  # noqa: BLE001 - the process's edge: whatever it was is reported
        return {"error": "crash", "message": traceback.format_exc()}
    return {"state": str(getattr(outcome, "state", "planned"))}


__all__ = ["HostileSchedule", "hostile_schedule", "soak_hostile"]
