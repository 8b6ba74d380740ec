"""A network to the database that is cut when a process that works on a run passes a checkpoint.

`cut`: all connections break at once. `swallow`: the next commit still arrives, and its connection breaks before the answer
comes, so that it lands and nobody is told. New connections work at once. `restart`: the server itself dies, and comes back.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

How = Literal["cut", "swallow", "restart"]
AT, HOW, CONTROL = "OVERNIGHT_TEST_CUT_AT", "OVERNIGHT_TEST_CUT_HOW", "OVERNIGHT_TEST_CUT_CONTROL"
# Where databases are reached, for processes that are told so.
PORT = "OVERNIGHT_TEST_DATABASE_PORT"


class CuttableNetwork:
    """Passes on what comes to its `port` to the socket of a server, until it is told otherwise at `control`."""

    def __init__(self, server: Path, restart: Callable[[], None] = lambda: None) -> None:
        self._server = str(server)
        self._restart = restart
        self._listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.port, self.control = (one.getsockname()[1] for one in self._listening)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_down = False
        self._swallowing = False
        self._committing: socket.socket | None = None
        self.cuts = 0
        # Connections that found nobody.
        self.refused = 0

    def __enter__(self) -> Self:
        for listening, what in zip(self._listening, (self._pass_on, self._obey), strict=True):
            threading.Thread(target=self._accept, args=(listening, what), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listening in self._listening:
            listening.close()
        self._cut()

    def swallow(self) -> None:
        """From here on, in this process: the answer to the next commit is lost."""
        self._swallowing = True

    @contextmanager
    def down(self, *, swallowing: bool = False) -> Iterator[None]:
        """Nobody is reached: what there was breaks, and what is new breaks at once.

        `swallowing`: only what is new, and the next commit lands before its connection breaks.
        """
        self._is_down = True
        if swallowing:
            self.swallow()
        else:
            self._cut()
        try:
            yield
        finally:
            self._is_down = False

    def environ(self, number: int, how: How) -> dict[str, str]:
        """For a process that has the network cut at this checkpoint."""
        return {AT: str(number), HOW: how, CONTROL: str(self.control), PORT: str(self.port)}

    def _accept(self, listening: socket.socket, what: object) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            what(client)  # type: ignore[operator]

    def _pass_on(self, client: socket.socket) -> None:
        if self._is_down:
            self.refused += 1
            client.close()
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._server)
        except OSError:  # it is down itself
            server.close()
            client.close()
            return
        self._pairs.append((client, server))
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(source, target, source is server), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        try:
            while data := source.recv(65536):
                if not is_answer and self._swallowing and b"COMMIT" in data:
                    self._committing = source
                if is_answer and self._committing is target:
                    self._swallowing, self._committing = False, None
                    self.cuts += 1
                    break
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(
                    socket.SHUT_RDWR
                )  # the other direction waits at the same sockets, and they would stay open
            one.close()

    def _obey(self, told: socket.socket) -> None:
        how = told.recv(16)
        if how == b"swallow":
            self._swallowing = True
        elif how == b"restart":
            self._restart()
            self._cut()
        else:
            self._cut()
        told.sendall(b"done")
        told.close()

    def _cut(self) -> None:
        self._swallowing, self._committing = False, None
        self.cuts += 1
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


def arm(environ: Mapping[str, str]) -> None:
    """In the process that works on the run: the network is cut when it passes that checkpoint."""
    if not environ.get(AT):
        return
    import overnight.core.checkpoint as seam

    number, passed = int(environ[AT]), 0

    def cut(_: str) -> None:
        nonlocal passed
        passed += 1
        if passed == number:
            with socket.create_connection(("127.0.0.1", int(environ[CONTROL]))) as control:
                control.sendall(environ[HOW].encode())
                control.recv(16)

    seam._seam.armed = True
    seam._seam.passed = cut  # type: ignore[method-assign]


def socket_in(folder: Path) -> Path:
    """A server's own."""
    return next(path for path in folder.iterdir() if path.name.startswith(".s.PGSQL.") and ".lock" not in path.name)
