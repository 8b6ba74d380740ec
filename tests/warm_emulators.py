"""Emulators forked from one warm process, so that a suite that starts hundreds pays for their imports once.

The parent sends the ends of its pipes and the arguments over a socket; the warm process forks a child that runs the
emulator's own `main` on them, and later says how the child ended.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence

_LONGEST_MESSAGE = 1 << 16


class WarmEmulators:
    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], start_new_session=True
            )

    def start(self, arguments: Sequence[str], stdin: int, stdout: int, stderr: int) -> int:
        """A new emulator on these ends of pipes; its process id."""
        socket.send_fds(self._socket, [json.dumps({"start": list(arguments)}).encode()], [stdin, stdout, stderr])
        return int(self._answer())

    def wait(self, pid: int) -> int:
        """Until it has ended; its exit code, or minus the signal that killed it."""
        self._socket.send(json.dumps({"wait": pid}).encode())
        return int(self._answer())

    def _answer(self) -> bytes:
        answer = self._socket.recv(_LONGEST_MESSAGE)
        if not answer:
            raise RuntimeError(f"the process that starts emulators has ended with {self._process.wait()}")
        return answer


@functools.cache
def warm_emulators() -> WarmEmulators:
    """The one of this test process. It ends when its socket is closed, as it is when this process ends."""
    return WarmEmulators()


def _child(arguments: Sequence[str], ends: Sequence[int]) -> None:
    from overnight_emulator import main

    for number, end in enumerate(ends):
        os.dup2(end, number)
    os.closerange(3, 256)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve(requests: socket.socket) -> None:
    import overnight_emulator.command

    assert overnight_emulator.command
    # Children look for garbage among their own things only.
    gc.freeze()
    while True:
        message, ends, _, _ = socket.recv_fds(requests, _LONGEST_MESSAGE, 3)
        if not message:
            return
        request = json.loads(message)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            requests.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        pid = os.fork()
        if pid == 0:
            _child(request["start"], ends)
        for end in ends:
            os.close(end)
        requests.send(str(pid).encode())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _serve(socket.socket(fileno=int(sys.argv[1])))
