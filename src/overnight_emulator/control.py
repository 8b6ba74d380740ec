"""What tests ask and tell the emulator itself: the log, the time, the faults. No key is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from overnight_emulator.batches.batch import Batch, status
from overnight_emulator.store import StoredFile
from overnight_emulator.truth_file import TruthError, read_faults
from overnight_emulator.wire import MISSHAPEN, json_body, json_reply
from overnight_emulator.world import World

PREFIX = "/_emulator/"
# A year at once: dates end somewhere, and jumps add up.
# Batches are made before the answer comes.
_MOST_FOREIGN = {"count": 100_000, "age": 10**10, "rows": 10**9}
_LONGEST_JUMP = 366 * 86_400
_BILLED = ("rows", "input_tokens", "cached_tokens", "output_tokens")
_PARENT = "projects/lab/locations/us-central1"


def control_routes(world: World) -> list[web.RouteDef]:
    control = _Control(world)
    return [
        web.get(PREFIX + "log", control.log),
        web.get(PREFIX + "time", control.time),
        web.post(PREFIX + "advance", control.advance),
        web.get(PREFIX + "health", control.health),
        web.get(PREFIX + "faults", control.armed),
        web.post(PREFIX + "faults", control.faults),
        web.delete(PREFIX + "faults", control.disarm),
        web.post(PREFIX + "reset", control.reset),
        web.post(PREFIX + "finish", control.finish),
        web.post(PREFIX + "foreign", control.foreign),
    ]


def is_input(file: StoredFile) -> bool:
    """Whether a client sent it, for a batch to read; a batch of xAI that was closed empty is none any more."""
    if file.details.get("cancelled"):
        return False
    return file.purpose != "batch_output" and "prediction" not in file.filename and not file.filename.endswith(".out")


class _Control:
    def __init__(self, world: World) -> None:
        self._world = world

    async def log(self, request: web.Request) -> web.Response:
        world = self._world
        world.works.settle()
        now = world.clock.now()
        store = world.store
        log: dict[str, Any] = {
            "batches": [_summary(batch, now) for batch in store.all_batches() if batch.created_at <= now],
            "files": [
                {"dialect": file.dialect, "name": file.filename, "bytes": file.bytes, "input": is_input(file)}
                for file in store.every_file(now)
            ],
            "rows_run": store.rows_run(),
            "rows_run_twice": store.rows_run_twice(),
            "billed": {"batch": _bill(store.all_batches()), "live": _live_bill(store.live_bill())},
            "call_counts": store.call_counts(),
            "enqueued_peak": store.peaks(),
            "enqueued_now": world.works.enqueued(),
            "faults_fired": world.faults.fired(),
            "now": now,
        }
        if request.query.get("calls") != "0":
            log["calls"] = [
                {"method": call.method, "path": call.path, "status": call.status, "at": call.at, "key": call.key}
                for call in store.calls()
            ]
        return json_reply(log)

    async def time(self, _: web.Request) -> web.Response:
        return json_reply({"now": self._world.clock.now(), "time_scale": self._world.clock.scale})

    async def advance(self, request: web.Request) -> web.Response:
        """Jump forward, and answer when everything that fell due has been done."""
        body = await json_body(request, lambda: _wrong("wanted a JSON object"))
        seconds = body.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_JUMP:
            raise _wrong(f"seconds: found {seconds!r:.100}, wanted a number from 0 to {_LONGEST_JUMP}")
        self._world.clock.advance(seconds)
        await self._world.works.settle_all()
        return json_reply({"now": self._world.clock.now()})

    async def faults(self, request: web.Request) -> web.Response:
        """A list of faults, alone or under the key `faults`."""
        try:
            found = await request.json()
            faults = read_faults(found["faults"] if isinstance(found, dict) and "faults" in found else found)
        except (*MISSHAPEN, TruthError) as error:
            raise _wrong(str(error)) from error
        self._world.faults.replace(faults)
        return json_reply({"armed": len(faults)})

    async def armed(self, _: web.Request) -> web.Response:
        """The faults in force, and how often each has fired."""
        faults = self._world.faults
        told = [
            {**msgspec.to_builtins(fault), "fired": fired}
            for fault, fired in zip(faults.listed(), faults.fired().values(), strict=True)
        ]
        return json_reply({"faults": told})

    async def disarm(self, _: web.Request) -> web.Response:
        self._world.faults.replace(())
        return json_reply({"armed": 0})

    async def health(self, _: web.Request) -> web.Response:
        return json_reply({"status": "ok"})

    async def reset(self, _: web.Request) -> web.Response:
        await self._world.reset()
        return json_reply({"now": self._world.clock.now()})

    async def foreign(self, request: web.Request) -> web.Response:
        """Batches of somebody else, made `age` seconds ago and ended since."""
        body = await json_body(request, lambda: _wrong("wanted a JSON object"))
        dialect, count = body.get("dialect"), body.get("count")
        age, rows = body.get("age", 0), body.get("rows", 1)
        if not isinstance(dialect, str) or dialect not in self._world.formats:
            raise _wrong(f"dialect: found {dialect!r}, wanted one of {', '.join(sorted(self._world.formats))}")
        for name, number in (("count", count), ("age", age), ("rows", rows)):
            if not isinstance(number, int | float) or not 0 <= number <= _MOST_FOREIGN[name]:
                raise _wrong(f"{name}: found {number!r:.100}, wanted a number from 0 to {_MOST_FOREIGN[name]}")
        parent = str(body.get("parent") or _PARENT)
        self._world.add_foreign(dialect, int(count or 0), float(age), int(rows), parent)
        return json_reply({"made": int(count or 0)})

    async def finish(self, _: web.Request) -> web.Response:
        return json_reply({"ended": await self._world.works.finish()})


def _wrong(text: str) -> web.HTTPBadRequest:
    return web.HTTPBadRequest(text=text)


def _bill(batches: Iterable[Batch]) -> dict[str, dict[str, int]]:
    """What has to be paid for, by model: every row that was run to an answer, whoever got it."""
    bill: dict[str, dict[str, int]] = {}
    for batch in batches:
        if batch.check is None or batch.check.model is None or batch.tally is None or not batch.tally.executed:
            continue
        usage = batch.tally.usage
        counts = (batch.tally.executed, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
        sums = bill.setdefault(batch.check.model, dict.fromkeys(_BILLED, 0))
        bill[batch.check.model] = {name: sums[name] + count for name, count in zip(_BILLED, counts, strict=True)}
    return bill


def _live_bill(found: Mapping[str, tuple[int, int, int, int]]) -> dict[str, dict[str, int]]:
    return {model: dict(zip(_BILLED, counts, strict=True)) for model, counts in found.items()}


def _summary(batch: Batch, now: float) -> dict[str, Any]:
    return {
        "id": batch.id,
        "dialect": batch.dialect,
        "name": batch.details.get("filename", ""),
        "metadata": batch.metadata,
        "created_at": batch.created_at,
        "status": status(batch, now),
        "endpoint": batch.endpoint,
        "model": None if batch.check is None else batch.check.model,
        "rows": 0 if batch.check is None else batch.check.total,
        "executed": 0 if batch.tally is None else batch.tally.executed,
        "input_file_id": batch.input_file_id,
    }
