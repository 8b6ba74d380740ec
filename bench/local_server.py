"""A live study on a real server: llama.cpp behind its OpenAI-compatible API, with a tiny model of random weights.

    make local        an environment of its own, built from source (several minutes), then this

Nothing of it is ours: it shows that `compatible/...` works with a server that we did not write. What the model says is
noise; what counts is that every row comes back, is joined to its question, and survives `verify`.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENCE = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(python: Path, folder: Path) -> Iterator[str]:
    """The server with its model, in a process of its own; its address."""
    model = folder / "tiny.gguf"
    subprocess.run([str(python), str(HERE / "tiny_model.py"), str(model)], check=True)
    port = free_port()
    command = [str(python), "-m", "llama_cpp.server", "--model", str(model), "--port", str(port), "--n_ctx", "512"]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}/v1"
            _wait_until_ready(address, server)
            yield address
        finally:
            server.terminate()
            server.wait(30)


def _wait_until_ready(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"{address}/models", timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
        else:
            return
    raise SystemExit("the server did not come up; see server.log")


def main() -> int:
    parser = argparse.ArgumentParser(description="A live study on llama.cpp's server.")
    parser.add_argument("--python", type=Path, required=True, help="an environment with llama-cpp-python[server]")
    parser.add_argument("--rows", type=int, default=40)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="local-server-") as scratch:
        folder = Path(scratch)
        with serving(asked.python, folder) as address:
            return _study(folder, address, asked.rows)


def _study(folder: Path, address: str, rows: int) -> int:
    study = {
        "name": "local",
        "task": "generate",
        "items": [{"id": f"i{number}", "text": f"thing number {number}"} for number in range(rows)],
        "prompt": "Describe {text}.",
        "models": [{"model": "compatible/tiny", "base_url": address, "max_tokens": 12, "temperature": 1, "seed": 7}],
        "mode": "live",
    }
    (folder / "study.yaml").write_text(json.dumps(study))
    overnight = [sys.executable, "-m", "overnight"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OVERNIGHT_")}
    for verb in (["run", "study.yaml"], ["verify", "local"], ["status", "local"]):
        done = subprocess.run([*overnight, *verb], cwd=folder, env=environ, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
