"""How fast the emulator is: live calls and batch rows for each second of its own processor time, and its memory.

python bench/emulator_speed.py                     2,000 calls, 50,000 rows
python bench/emulator_speed.py --rows 1000000      in batches of 50,000, as OpenAI takes them
python bench/emulator_speed.py --rows 1000000 --in-batch 1000000      all in one
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "emulator"))

from driving import cpu_seconds, peak_megabytes

from emulator_process import EmulatorProcess

FAST = {"time_scale": 100_000, "latency": {"batch": [60, 60], "live": [0, 0]}}
# More than a provider takes: this is about what the emulator can bear.
UNLIMITED = {"limits": {"requests": 10_000_000, "bytes": 10_000_000_000}}
QUESTION = "Which of these is the better answer, and why? " * 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--in-batch", type=int, default=50_000, help="rows in one batch (50000)")
    options = parser.parse_args()
    with EmulatorProcess({**FAST, **UNLIMITED}) as emulator:
        began, before = time.monotonic(), cpu_seconds(emulator.pid)
        asyncio.run(calls(emulator.url, options.calls))
        _tell("live calls", options.calls, cpu_seconds(emulator.pid) - before, time.monotonic() - began)
    with EmulatorProcess({**FAST, **UNLIMITED}) as emulator:
        before, began = cpu_seconds(emulator.pid), time.monotonic()
        quiet = peak_megabytes(emulator.pid)
        for start in range(0, options.rows, options.in_batch):
            batch(emulator, start, min(options.in_batch, options.rows - start))
        _tell("batch rows", options.rows, cpu_seconds(emulator.pid) - before, time.monotonic() - began)
        print(f"memory: {quiet:.0f} MB before the first batch, {peak_megabytes(emulator.pid):.0f} MB at most")


def _tell(what: str, count: int, cpu: float, wall: float) -> None:
    print(f"{what}: {count:,} in {cpu:.2f} s of CPU: {count / cpu:,.0f} for each second ({wall:.1f} s on the clock)")


def body(number: int) -> dict[str, object]:
    return {"model": "gpt-4.1", "messages": [{"role": "user", "content": f"{QUESTION} {number}"}]}


async def calls(url: str, count: int) -> None:
    """Over a few connections that stay open, with as little of a client as can be."""
    place = url.removeprefix("http://").split(":")
    await asyncio.gather(*(_line(place[0], int(place[1]), range(lane, count, 4)) for lane in range(4)))


async def _line(host: str, port: int, numbers: range) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    for number in numbers:
        content = json.dumps(body(number)).encode()
        head = f"POST /openai/v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer x\r\n"
        writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        told = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in told[:20], told
        length = next(line for line in told.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
    writer.close()


def batch(emulator: EmulatorProcess, start: int, count: int) -> None:
    with tempfile.TemporaryFile() as form:
        form.write(b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\n')
        form.write(b'Content-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n')
        for number in range(start, start + count):
            line = {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions", "body": body(number)}
            form.write(json.dumps(line).encode() + b"\n")
        form.write(b"\r\n--b--\r\n")
        size = form.tell()
        form.seek(0)
        headers = {"Content-Type": "multipart/form-data; boundary=b", "Content-Length": str(size)}
        file = _ask(emulator, "files", form, headers)
    asked = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    made = _ask(emulator, "batches", json.dumps(asked).encode(), {"Content-Type": "application/json"})
    while made["status"] not in {"completed", "failed"}:
        time.sleep(0.2)
        made = _ask(emulator, f"batches/{made['id']}", None, {})
    assert made["request_counts"]["completed"] == count, made


def _ask(emulator: EmulatorProcess, path: str, data: object, headers: dict[str, str]) -> dict[str, object]:
    request = urllib.request.Request(f"{emulator.openai_url}/{path}", data, {"Authorization": "Bearer x", **headers})
    with urllib.request.urlopen(request, timeout=600) as answer:
        told: dict[str, object] = json.load(answer)
    return told


if __name__ == "__main__":
    main()
