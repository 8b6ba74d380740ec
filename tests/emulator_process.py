"""The emulator as a child process, for tests: start it, ask it, kill it, start it again on the same state."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from warm_emulators import warm_emulators

PATIENCE_SECONDS = 60


class EmulatorProcess:
    """`with EmulatorProcess(truth) as emulator: ... emulator.url ...`

    The truth is what a truth file would hold, as a mapping. Without a state folder the state is thrown away on
    closing, but outlives kills and restarts until then. The child exits when this process does, however it ends.
    """

    def __init__(self, truth: Mapping[str, Any] | None = None, state: Path | None = None, *arguments: str) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="emulator-test-")
        folder = Path(self._temporary.name)
        self.state = state if state is not None else folder / "state"
        self.truth_file = folder / "truth.yaml"
        self._complaints = folder / "stderr.txt"
        self._arguments = arguments
        self._pid: int | None = None
        self._lifeline = -1
        self._output: TextIO | None = None
        self.url = ""
        self.write_truth(truth or {})

    def write_truth(self, truth: Mapping[str, Any]) -> None:
        """What the next start will read. JSON is YAML."""
        self.truth_file.write_text(json.dumps(truth, ensure_ascii=False), encoding="utf-8")

    def start(self) -> Self:
        arguments = [
            "--port=0",
            f"--truth={self.truth_file}",
            f"--state={self.state}",
            "--until-stdin-closes",
            *self._arguments,
        ]
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        with self._complaints.open("a") as complaints:
            self._pid = warm_emulators().start(arguments, theirs_in, theirs_out, complaints.fileno())
        os.close(theirs_in)
        os.close(theirs_out)
        self._lifeline, self._output = ours_in, os.fdopen(ours_out)
        line = self._output.readline()
        if not line.startswith("listening on "):
            complained = self.complaints()
            self.close()
            raise RuntimeError(f"the emulator did not start: {complained or line!r}")
        self.url = line.removeprefix("listening on ").strip()
        return self

    @property
    def pid(self) -> int:
        assert self._pid is not None
        return self._pid

    @property
    def openai_url(self) -> str:
        return f"{self.url}/openai/v1"

    def kill(self) -> None:
        """`kill -9`: nothing is flushed, nothing is said."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """A polite end; its exit code."""
        return self._end(signal.SIGTERM)

    def restart(self) -> Self:
        """Kill it and start it on the same state; the port is another one."""
        self.kill()
        return self.start()

    def complaints(self) -> str:
        """What it has written to stderr: nothing, when all is well."""
        return self._complaints.read_text()

    def log(self, *, calls: bool = True) -> dict[str, Any]:
        log: dict[str, Any] = self.ask("log" if calls else "log?calls=0")
        return log

    def now(self) -> float:
        return float(self.ask("time")["now"])

    def advance(self, seconds: float) -> None:
        self.ask("advance", {"seconds": seconds})

    def finish(self) -> None:
        self.ask("finish", {})

    def add_foreign(self, dialect: str, count: int, *, age: float = 0, rows: int = 1) -> None:
        """So many batches of somebody else, all of which have ended."""
        self.ask("foreign", {"dialect": dialect, "count": count, "age": age, "rows": rows})

    def arm(self, faults: Sequence[Mapping[str, Any]]) -> None:
        self.ask("faults", faults)

    def ask(self, what: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_emulator/{what}", data)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def close(self) -> None:
        self._end(signal.SIGTERM)
        self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end(self, number: signal.Signals) -> int:
        pid, self._pid = self._pid, None
        if pid is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        os.close(self._lifeline)
        code = warm_emulators().wait(pid)
        assert self._output is not None
        self._output.close()
        return code


def charged(log: Mapping[str, Any]) -> int:
    """What the provider charges for all that it ran, whoever got the answers: in nano-dollars.

    At a dollar for each million tokens in, two out, half of it in batches: no row comes to a part of a nano-dollar.
    """
    bill = log["billed"]
    half = sum(500 * use["input_tokens"] + 1_000 * use["output_tokens"] for use in bill["batch"].values())
    return half + sum(1_000 * use["input_tokens"] + 2_000 * use["output_tokens"] for use in bill["live"].values())
