"""A plan's requests in the provider's own files, for whoever sends them by hand."""

import csv
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from overnight.api.plans.counting import ArmCount
from overnight.core.ask import Ask
from overnight.core.shard import custom_id, token_of
from overnight.core.stage import Stage


class PlanWriter:
    """The provider's own files, and a table that tells which custom id is which row."""

    def __init__(self, target: Path, stage: Stage, stack: ExitStack) -> None:
        self._target = target
        self._stage = stage
        self._stack = stack
        self._open: dict[str, tuple[Any, str, int]] = {}
        self.files: list[str] = []
        self._map = csv.writer(self._text(target / f"{stage.name}-rows.csv"))
        self._map.writerow(["file", "custom_id", "arm", "item_id", "replicate", "turn"])

    def _text(self, path: Path) -> TextIO:
        return self._stack.enter_context(path.open("w", encoding="utf-8", newline=""))

    def add(self, count: ArmCount, ask: Ask, body: bytes, *, begins: bool) -> None:
        arm = count.arm.name
        if begins:
            self._begin(arm, max(1, count.plan.batches))
        handle, token, line = self._open[arm]
        name = custom_id(token, line)
        handle.write(count.ready_line(name, body) + b"\n")
        self._open[arm] = (handle, token, line + 1)
        self._map.writerow([Path(handle.name).name, name, arm, ask.item, ask.replicate, ask.turn])

    def _begin(self, arm: str, number: int) -> None:
        path = self._target / f"{arm}-{number:02d}.jsonl"
        if arm in self._open:
            self._open[arm][0].close()
        handle = self._stack.enter_context(path.open("wb"))
        token = token_of("plan", self._stage.name, arm, number, 0)
        self._open[arm] = (handle, token, 0)
        self.files.append(str(path))
