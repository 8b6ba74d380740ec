"""A real server of S3 (moto's), in a thread of the tests, which can be told to misbehave; and Cloud Storage before it.

obstore speaks to Cloud Storage in XML, as S3 does, under other headers: these are translated, and generations counted.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from overnight.store.bucket import BucketStore

Environ = dict[str, Any]
Start = Callable[..., Any]
KEY, SECRET = "AKIATESTKEY", "secret-of-the-bucket-0123456789"
_numbers = itertools.count(1)


class _KeepsConnections(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"


class BucketServer:
    """`faults` are asked for each request, in order, and may answer in the server's place."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self.faults: list[Callable[[Server, Environ, Start], Iterable[bytes] | None]] = []
        self.requests: list[str] = []
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=_KeepsConnections)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._generations: dict[str, int] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.serve({"REQUEST_METHOD": "PUT", "PATH_INFO": "/bucket", "wsgi.input": None}, lambda *_: None)

    def _answer(self, environ: Environ, start: Start) -> Iterable[bytes]:
        self.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{environ['QUERY_STRING']}")
        for fault in list(self.faults):
            answer = fault(self, environ, start)
            if answer is not None:
                return answer
        return self.serve(environ, start)

    def serve(self, environ: Environ, start: Start) -> Iterable[bytes]:
        if environ["wsgi.input"] is None:
            return _made_by_itself(self._app, environ)
        if "HTTP_X_GOOG_USER_PROJECT" in environ or environ["PATH_INFO"].startswith("/google"):
            return self._google(environ, start)
        return list(self._app(environ, start))

    def _google(self, environ: Environ, start: Start) -> Iterable[bytes]:
        path, wanted = environ["PATH_INFO"], environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None)
        environ["HTTP_AUTHORIZATION"] = (
            f"AWS4-HMAC-SHA256 Credential={KEY}/20260101/us-east-1/s3/aws4_request, Signature=x"
        )
        for name in [name for name in environ if name.startswith("HTTP_X_GOOG_META_")]:
            environ[name.replace("X_GOOG", "X_AMZ")] = environ.pop(name)
        with self._lock:
            there = self._generations.get(path, 0)
            if wanted is not None and int(wanted) != there:
                start("412 Precondition Failed", [("Content-Type", "application/xml")])
                return [b"<Error><Code>PreconditionFailed</Code></Error>"]

            def begin(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
                if status.startswith("200") and environ["REQUEST_METHOD"] == "PUT":
                    self._generations[path] = next(_numbers)
                if environ["REQUEST_METHOD"] == "DELETE":
                    self._generations.pop(path, None)
                named = [(re.sub("^x-amz-meta-", "x-goog-meta-", name), value) for name, value in headers]
                if path in self._generations:
                    named.append(("x-goog-generation", str(self._generations[path])))
                return start(status, named, *more)

            return list(self._app(environ, begin))


Server = BucketServer


def _made_by_itself(app: Any, environ: Environ) -> Iterable[bytes]:
    from werkzeug.test import Client

    Client(app).open(environ["PATH_INFO"], method=environ["REQUEST_METHOD"])
    return []


@cache
def server() -> BucketServer:
    return BucketServer()


def environment(at: BucketServer) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": at.url,
    }


def fresh_url(scheme: str = "s3") -> str:
    """A place that nobody has used."""
    return f"{scheme}://{'bucket' if scheme == 's3' else 'google'}/some/run{next(_numbers)}"


def made(folders: tuple[str, ...], files: tuple[str, ...], *, patience: float = 5.0, url: str = "") -> BucketStore:
    import os

    before = dict(os.environ)
    os.environ.update(environment(server()))
    try:
        return BucketStore(url or fresh_url(), folders, files, patience=patience)
    finally:
        os.environ.clear()
        os.environ.update(before)


def google_credentials(at: BucketServer, path: Path) -> Path:
    """A service account that names its own server, as Google's emulators want it."""
    from werkzeug.test import Client

    Client(at._app).open("/google", method="PUT")
    path.write_text(
        json.dumps(
            {"gcs_base_url": at.url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        )
    )
    return path


# --- faults


def answers(status: int, times: int, *, only: str = "") -> Callable[..., Any]:
    """So many requests get this status, in the words of S3."""
    left = [times]

    def fault(_: BucketServer, environ: Environ, start: Start) -> Iterable[bytes] | None:
        if left[0] <= 0 or only not in f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}":
            return None
        left[0] -= 1
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(f"{status} Trouble", [("Content-Type", "application/xml")])
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else b"<Error><Code>SlowDown</Code></Error>"]

    return fault


def loses_answers(times: int, *, only: str) -> Callable[..., Any]:
    """The request is done, and the connection ends before its answer."""
    left = [times]

    def fault(at: BucketServer, environ: Environ, _: Start) -> Iterable[bytes] | None:
        if left[0] <= 0 or only not in f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}":
            return None
        left[0] -= 1
        list(at.serve(environ, lambda *_: None))
        with suppress(OSError):
            environ["werkzeug.socket"].shutdown(2)
        raise ConnectionResetError("the answer is lost")

    return fault


def is_slow(seconds: float) -> Callable[..., Any]:
    def fault(*_: Any) -> None:
        time.sleep(seconds)

    return fault


def lists_nothing_yet(at: BucketServer, environ: Environ, start: Start) -> Iterable[bytes] | None:
    if environ["REQUEST_METHOD"] != "GET" or "list-type" not in environ["QUERY_STRING"]:
        return None
    start("200 OK", [("Content-Type", "application/xml")])
    empty = "<Name>bucket</Name><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated>"
    return [f'<?xml version="1.0"?><ListBucketResult>{empty}</ListBucketResult>'.encode()]


def puts_over_everything(_: BucketServer, environ: Environ, __: Start) -> None:
    """A look-alike of S3 that knows no conditions."""
    environ.pop("HTTP_IF_NONE_MATCH", None)
