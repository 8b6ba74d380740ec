"""What happens in one soaked run, from its seed alone: the study, the provider's misdeeds, the kills.

Every fault drawn here leaves the run completable: it fires a bounded number of times or for a while, and nothing it
does is final but for answers that come in a line that cannot be read.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import soak_rounds
import soak_study
from soak_incidents import Incident, draw_damage, draw_incident

_VERBS = ("run", "run", "resume", "once", "once", "submit")
# What somebody else may type meanwhile, beside the same command.
_TWINS = ("run", "resume", "once", "rebuild", "status", "cancel")
_LATE_CHECKPOINT = 160
# Tokens of the longest conversation there is: a queue that cannot hold one row would never let it pass.
_LONGEST_ROW = 400
_CALLS = ("upload", "create", "list", "retrieve", "content", "delete")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One command, and what ends it early: a checkpoint's number, or a moment in seconds after its start."""

    verb: str
    kill_at: int = 0
    kill_after: float | None = None
    # The provider dies this long after the command began, and comes back after the pause.
    emulator_dies_after: float | None = None
    emulator_pause: float = 0.0
    # A command is typed in a second terminal, this long after the first.
    twin_after: float | None = None
    twin_verb: str = ""
    # What happens to the folder before the command.
    incident: Incident | None = None


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    items: list[dict[str, str]]
    study: dict[str, Any]
    truth: dict[str, Any]
    faults: list[dict[str, Any]]
    limits: dict[str, Any]
    steps: list[Step]
    # Nobody waits: a cron job comes by now and then (`resume --once`).
    passes_only: bool = False
    # What is asked hangs on the answers to what was asked before.
    in_rounds: bool = False
    # What is damaged when the run is over; then the same command is typed again.
    late_damage: Incident | None = None

    @property
    def untagged(self) -> bool:
        """Whether a part of it goes to a provider that keeps neither tag nor input."""
        return "anthropic/" in str(self.study)

    @property
    def live(self) -> bool:
        return self.study.get("mode") == "live"

    @property
    def kills(self) -> int:
        return sum(1 for step in self.steps if step.kill_at or step.kill_after is not None)


def schedule(seed: int, among: tuple[str, ...] = (), *, rounds: bool = False) -> Schedule:
    """`among`: the providers that take part, if not all. `rounds`: a study that asks in rounds, whatever the seed."""
    draw = random.Random(f"soak {seed}")
    models = soak_study.models(draw, among)
    items = _items(draw)
    study = soak_study.study(draw, models, len(items), among)
    rounds = rounds or soak_rounds.is_in_rounds(seed)
    if rounds:
        items, study = soak_rounds.items_and_study(seed, among)
    # Without a tag or an input to delete, a create that comes after the last look cannot be told from one that never
    # came: there, time runs slowly enough for a busy machine, and creates are not late by more than looks cover.
    untagged = "anthropic/" in str(study)
    live = study.get("mode") == "live"
    passes_only = not live and draw.random() < 0.15
    return Schedule(
        seed=seed,
        items=items,
        study=study,
        truth={
            "seed": draw.choice((7, 8)),
            "time_scale": 2_000 if untagged else draw.choice((5_000, 20_000)),
            "latency": {
                "batch": draw.choice(([60, 600], [5, 30], [30, 90] if untagged else [600, 7_200])),
                "live": [0, 0],
            },
            "answers": draw.choice(({}, {}, {"refused": 0.1, "truncated": 0.1, "filtered": 0.05})),
            **(_quick(untagged=untagged) | soak_rounds.TRUTH if rounds else {}),
        },
        faults=[_fault(draw, live=live, untagged=untagged) for _ in range(draw.choice((0, 1, 2, 3, 4, 6)))],
        # Questions of rounds are longer than a small queue.
        limits={} if rounds else _limits(draw, models, items),
        steps=_steps(draw, live=live, passes_only=passes_only),
        passes_only=passes_only,
        in_rounds=rounds,
        late_damage=draw_damage(draw) if draw.random() < 0.2 else None,
    )


def _quick(*, untagged: bool) -> dict[str, Any]:
    """Rounds come one after another: what each waits for is short, so that a run of many ends."""
    return {"time_scale": 2_000 if untagged else 20_000, "latency": {"batch": [30, 90], "live": [0, 0]}}


def _items(draw: random.Random) -> list[dict[str, str]]:
    """Every text names its item by a marker; twins share one."""
    texts: list[str] = []
    twins = draw.choice((0.0, 0.0, 0.3))
    for number in range(draw.choice((1, 2, 5, 8, 12, 20, 40))):
        again = texts and draw.random() < twins
        texts.append(draw.choice(texts) if again else f"thing marker{number:04d}x{draw.getrandbits(32):08x}")
    stem = draw.choice(("item ", "é/", 'a"b,', "x"))
    return [{"id": f"{stem}{number:05d}", "text": text} for number, text in enumerate(texts)]


def _limits(draw: random.Random, models: list[str], items: list[dict[str, str]]) -> dict[str, Any]:
    """Seldom, a queue that holds less than the run: batches are turned away, wait, or are cut."""
    if draw.random() < 0.85:
        return {}
    room = max(_LONGEST_ROW, len(items) * 12 // draw.choice((1, 2, 4)))
    # Only OpenAI has such a queue.
    names = [model.removeprefix("openai/") for model in models if model.startswith("openai/")]
    return {"enqueued_tokens": dict.fromkeys(names, room)} if names else {}


def _fault(draw: random.Random, *, live: bool, untagged: bool) -> dict[str, Any]:
    kinds = (_live_fault,) if live else (_call_fault, _create_fault, _content_fault, _batch_fault, _row_fault)
    fault = draw.choice(kinds)(draw)
    if untagged and fault["do"] in ("delay_create", "hide", "backdate"):
        fault["seconds"] = min(fault["seconds"], 100)
    if draw.random() < 0.4:
        fault["skip"] = draw.randint(1, 4)
    return fault


def _call_fault(draw: random.Random) -> dict[str, Any]:
    on = draw.choice(_CALLS)
    times = draw.randint(1, 5)
    status = draw.choice((429, 500, 502, 503))
    choices: list[dict[str, Any]] = [{"do": "status", "status": status}, {"do": "drop_answer"}]
    if status == 429:
        choices[0]["retry_after"] = draw.choice((0.001, 0.02))
    if on in ("upload", "create", "delete") and status >= 500:
        choices.append({"do": "status", "status": status, "applied": True})
    if on != "content":
        # A portal on the way: another status than the provider's own proves as little.
        page: dict[str, Any] = draw.choice(({}, {"status": 403}, {"status": 511}))
        choices.append({"do": "web_page", "applied": draw.random() < 0.5, **page})
    if on in ("list", "retrieve"):
        choices.append({"do": "deep"})
    if on == "list":
        choices.append({"do": "stale", "seconds": draw.choice((5, 25))})
    if on == "upload":
        choices.append({"do": "vanish", "seconds": draw.choice((0, 60))})
    if on == "upload":
        choices.append({"do": "lose_request"})
    if on in ("list", "retrieve", "content", "delete"):
        choices.append({"do": "slow", "seconds": draw.choice((10, 500))})
    if on == "retrieve":
        choices.append({"do": "status", "status": 404, "lasts": draw.choice((60, 3_000))})
        choices.append({"do": "cached"})
    return {"on": on, "times": times, **draw.choice(choices)}


def _live_fault(draw: random.Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"do": "status", "status": draw.choice((500, 502, 503, 529))},
        {"do": "status", "status": 429, "retry_after": draw.choice((0.001, 0.02))},
        {"do": "drop_answer"},
        {"do": "slow", "seconds": draw.choice((1, 20))},
    ]
    return {"on": "live", "times": draw.randint(1, 8), "odds": draw.choice((0.2, 0.5, 1.0)), **draw.choice(choices)}


def _create_fault(draw: random.Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"do": "drop_answer"},
        {"do": "lose_request"},
        {"do": "delay_create", "seconds": draw.choice((5, 100, 700, 3_000))},
        {"do": "hide", "seconds": draw.choice((20, 200, 500)), "drop": draw.random() < 0.5},
        {"do": "twice"},
        {"do": "cached"},
        {"do": "status", "status": draw.choice((408, 409, 429, 500, 503, 529))},
        {"do": "status", "status": 500, "applied": True},
        # A refusal that lies: the batch is made.
        {"do": "status", "status": draw.choice((400, 413, 429)), "applied": True},
        {"do": "status", "status": draw.choice((400, 429)), "applied": True, "message": "no, {key}"},
        {"do": "backdate", "seconds": draw.choice((30, 2_000)), "drop": draw.random() < 0.7},
    ]
    return {"on": "create", "times": draw.randint(1, 2), **draw.choice(choices)}


def _content_fault(draw: random.Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"do": "cut", "at": round(draw.random(), 2)},
        {"do": "cut", "at": round(draw.random(), 2), "quiet": True},
        {"do": "cut", "at": round(draw.random(), 2), "fitting": True},
        {"do": "web_page"},
        {"do": "empty"},
        {"do": "garbage_tail"},
        {"do": "echo_key"},
    ]
    # For some downloads in a row, or for a while, as a network that wants a sign-in behaves.
    how_long = draw.choice(({"times": draw.randint(1, 3)}, {"lasts": draw.choice((20, 500, 3_000))}))
    return {"on": "content", **how_long, **draw.choice(choices)}


def _batch_fault(draw: random.Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"do": "expire", "share": round(draw.random(), 2), "silent": draw.random() < 0.3, "seconds": 1_200},
        {"do": "slow", "seconds": draw.choice((100, 5_000))},
        {"do": "empty_output", "as": draw.choice((None, "")), "seconds": draw.choice((100, 2_000))},
        {"do": "status_word", "word": "pondering"},
        {"do": "cancel"},
    ]
    return {"on": "batch", "times": draw.randint(1, 2), **draw.choice(choices)}


def _row_fault(draw: random.Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"do": "error", "status": draw.choice((429, 500, 503)), "code": draw.choice((None, "server_error"))},
        {"do": "omit"},
        {"do": "duplicate"},
        {"do": "malformed"},
        {"do": "unknown_id"},
        {"do": "empty_body"},
        {"do": "no_usage"},
        {"do": "odd_usage"},
    ]
    chosen = {key: value for key, value in draw.choice(choices).items() if value is not None}
    return {"on": "row", "times": draw.randint(1, 12), "odds": draw.choice((0.2, 0.5, 1.0)), **chosen}


def _steps(draw: random.Random, *, live: bool, passes_only: bool) -> list[Step]:
    steps = [_step(draw, first=number == 0, live=live) for number in range(draw.choice((1, 2, 3, 3, 5)))]
    if passes_only:
        verbs = ["submit", *("once" for _ in steps[1:])]
        steps = [msgspec.structs.replace(step, verb=verb) for step, verb in zip(steps, verbs, strict=True)]
    return steps


def _step(draw: random.Random, *, first: bool, live: bool) -> Step:
    verb = draw.choice(("run", "run", "submit") if first else _VERBS)
    if live and verb == "submit":
        verb = "run"  # nothing is handed over where every row is a call
    how = draw.random()
    kill_at = round(_LATE_CHECKPOINT ** draw.random()) if how < 0.6 else 0
    kill_after = round(draw.uniform(0.0, 0.8), 3) if 0.6 <= how < 0.9 else None
    dies = round(draw.uniform(0.0, 0.5), 3) if draw.random() < 0.15 else None
    twin = round(draw.choice((0.0, 0.0, draw.uniform(0.0, 0.3))), 3) if draw.random() < 0.2 else None
    incident = draw_incident(draw) if not first and draw.random() < 0.5 else None
    if incident is not None and incident.kind in ("restore", "restore_folder", "lose_ledger"):
        # Whether such a command refuses or goes on must be known before anything else happens.
        kill_at, kill_after, dies, twin = 0, None, None, None
    return Step(
        verb=verb,
        kill_at=kill_at,
        kill_after=kill_after,
        emulator_dies_after=dies,
        emulator_pause=round(draw.uniform(0.0, 0.3), 3) if dies is not None else 0.0,
        twin_after=twin,
        twin_verb=draw.choice((verb, verb, *_TWINS)),
        incident=incident,
    )
