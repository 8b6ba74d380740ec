"""The state on disk: `kill -9` and a restart lose nothing, and time goes on from where it was."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import openai
import pytest
from driving import chat_body, chat_lines, create, line, rows, submit

from emulator_process import EmulatorProcess


def test_everything_survives_kill_9(emulate, connect):
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1000, 1000], "live": [0, 0]}})
    client = connect(emulator)
    done = submit(client, chat_lines(3))
    emulator.finish()
    done = client.batches.retrieve(done.id)
    answers = rows(client, done.output_file_id)
    running = submit(client, chat_lines(5), metadata={"tag": "running"})
    emulator.advance(500)
    fresh = submit(client, [line("z", chat_body("fresh"))])
    before = emulator.log()

    client = connect(emulator.restart())
    assert client.batches.retrieve(done.id) == done
    assert rows(client, done.output_file_id) == answers
    assert client.batches.retrieve(running.id).status == "in_progress"
    assert client.batches.retrieve(fresh.id).status == "validating"
    after = emulator.log()
    assert after["calls"][: len(before["calls"])] == before["calls"]
    assert after["rows_run"] == before["rows_run"]
    assert after["enqueued_peak"]["gpt-4.1"] >= before["enqueued_peak"]["gpt-4.1"] > 0
    emulator.advance(1000)
    assert len(rows(client, client.batches.retrieve(running.id).output_file_id)) == 5
    assert client.batches.retrieve(fresh.id).status == "completed"
    assert client.batches.retrieve(running.id).metadata == {"tag": "running"}
    assert [batch.id for batch in client.batches.list()] == [fresh.id, running.id, done.id]


def test_an_end_in_the_middle_of_the_work_repeats_it_without_counting_twice(emulate, connect):
    emulator = emulate({"time_scale": 1_000_000})
    client = connect(emulator)
    batch = submit(client, chat_lines(4000))
    for end in (emulator.kill, emulator.stop, emulator.kill):
        time.sleep(0.1)
        end()
        client = connect(emulator.start())
    emulator.finish()
    batch = client.batches.retrieve(batch.id)
    assert batch.status == "completed"
    assert len(rows(client, batch.output_file_id)) == 4000
    log = emulator.log()
    assert (log["rows_run"], log["rows_run_twice"]) == (4000, [])


def test_faults_keep_their_counts_and_the_list_that_was_armed_last(emulate, connect):
    given = [{"on": "create", "do": "status", "status": 500, "times": 2}]
    emulator = emulate({"faults": given})

    def fails() -> bool:
        client = connect(emulator)
        try:
            create(client, "file-x")
        except openai.InternalServerError:
            return True
        return False

    assert fails()
    emulator.restart()
    assert emulator.log()["faults_fired"] == {"0": 1}
    assert [fails(), fails()] == [True, False]
    emulator.arm([{"on": "create", "do": "status", "status": 500, "times": 1, "skip": 1}])
    assert not fails()
    emulator.restart()
    assert [fails(), fails()] == [True, False]
    emulator.stop()
    emulator.write_truth({"faults": [{"on": "create", "do": "status", "times": 1}]})
    emulator.start()
    assert [fails(), fails()] == [True, False], "another truth file brings its own list"


def date(emulator: EmulatorProcess) -> float:
    connection = http.client.HTTPConnection(emulator.url.removeprefix("http://"))
    connection.request("GET", "/openai/v1/models", headers={"Authorization": "Bearer sk-x"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return parsedate_to_datetime(answer.headers["Date"]).timestamp()


def test_virtual_time_starts_now_runs_faster_and_is_in_every_date(emulate):
    emulator = emulate({"time_scale": 1000})
    assert abs(emulator.now() - time.time()) < 10_000
    first = date(emulator)
    time.sleep(0.5)
    assert 400 < date(emulator) - first < 20_000
    emulator.advance(86_400)
    assert date(emulator) - first > 86_800


def test_time_stands_still_while_stopped_and_never_goes_back(emulate):
    emulator = emulate({"time_scale": 1000})
    emulator.advance(50_000)
    for end in (emulator.kill, emulator.stop):
        seen = max(date(emulator), emulator.now())
        end()
        time.sleep(1)
        emulator.start()
        assert seen <= emulator.now()
    emulator.kill()
    emulator.write_truth({"time_scale": 1})
    emulator.start()
    one = emulator.now()
    time.sleep(0.3)
    assert 0.2 < emulator.now() - one < 5


def test_one_state_serves_one_emulator(emulate):
    emulator = emulate()
    second = subprocess.run(
        [sys.executable, "-m", "overnight_emulator", "--port=0", f"--state={emulator.state}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert "another emulator is using this state" in second.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly_and_a_state_of_its_own_is_removed(tmp_path, number):
    process = subprocess.Popen(
        [sys.executable, "-m", "overnight_emulator", "--port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout.readline().startswith("listening on http://127.0.0.1:")
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_it_exits_with_its_parent(tmp_path):
    script = f"""
import subprocess, sys, time
command = [sys.executable, "-m", "overnight_emulator", "--port=0", "--state={tmp_path}", "--until-stdin-closes"]
child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(child.stdout.readline().strip(), child.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline().split()[-1])
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    """Running: an orphan that nobody has waited for may stay on as a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
