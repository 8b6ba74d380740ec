"""A folder in place of a provider: a batch is a file in it, and its answers are the file beside it."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import Gone, Unavailable
from overnight.providers.contract import Batch, Counts, CreateAnswer, Endpoint, Fence, Intent, Sightings
from overnight.providers.reading.patient_json import UNREADABLE

_INPUT, _OUTPUT, _STOPPED, _PART = ".jsonl", ".out.jsonl", ".stopped", ".part"
_CHUNK = 1 << 20


class _Body(msgspec.Struct):
    model: str = "NAME"


class _Line(msgspec.Struct):
    body: _Body


class FolderConnection:
    """The files of `vllm run-batch` in one folder."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._folder = Path(unquote(urlsplit(endpoint.base_url).path))

    async def upload(self, intent: Intent) -> str:
        """Nothing yet: the file is the batch."""
        return intent.token

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:  # noqa: ARG002 - same
        """Written whole under its name, or not at all; writing it again changes nothing."""
        target = self._input(intent.token)
        checkpoint("send:create")
        try:
            await asyncio.to_thread(_write, intent, target)
        except OSError as error:
            return CreateAnswer(sent=False, problem=f"{target}: cannot write: {error.strerror}")
        checkpoint("sent:create")
        return CreateAnswer(sent=True, status=200, batch=self._seen(target))

    async def newest(self) -> Sightings:
        return await self.recent(Fence(None), 1)

    async def recent(self, fence: Fence, pages: int) -> Sightings:  # noqa: ARG002 - a folder is one page
        """Every batch of the folder."""
        names = sorted(self._folder.glob(f"*{_INPUT}")) if self._folder.is_dir() else []
        inputs = [path for path in names if not path.name.endswith(_OUTPUT)]
        seen = sorted((self._seen(path) for path in inputs), key=lambda batch: batch.created_at or 0, reverse=True)
        return Sightings(tuple(seen), complete=True, date=time.time())

    async def retrieve(self, batch_id: str) -> Batch | None:
        path = self._input(batch_id)
        return await asyncio.to_thread(self._seen, path) if path.is_file() else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        try:
            with (self._folder / ref).open("rb") as answers:
                while chunk := answers.read(_CHUNK):
                    sink(chunk)
                return answers.tell()
        except FileNotFoundError:
            raise Gone(f"{self._folder / ref} is no longer there") from None
        except OSError as error:
            raise Unavailable(f"{self._folder / ref}: cannot read: {error.strerror}") from None

    async def cancel(self, batch_id: str) -> Batch | None:
        """From here on it counts as ended, with whatever it has."""
        path = self._input(batch_id)
        if not path.is_file():
            return None
        if self._seen(path).phase == "running":
            path.with_suffix(_STOPPED).touch()
        return self._seen(path)

    async def remove_file(self, file_id: str) -> None:
        """What a process left half-written when it was killed: nobody goes on with it."""
        self._input(file_id).with_suffix(_PART).unlink(missing_ok=True)

    async def knows_file(self, file_id: str) -> bool:  # noqa: ARG002 - same
        return False

    async def check_key(self) -> str:
        return f"vllm: files go to {self._folder}"

    async def close(self) -> None: ...

    def _input(self, token: str) -> Path:
        return self._folder / f"{Path(token).name}{_INPUT}"

    def _seen(self, path: Path) -> Batch:
        """Ended when there is an answer to every line."""
        token = path.name.removesuffix(_INPUT)
        output = path.with_name(token + _OUTPUT)
        total = _lines(path)
        answered = _lines(output) if output.is_file() else 0
        stopped = path.with_suffix(_STOPPED).exists()
        done = answered >= total
        command = f"waits for: vllm run-batch -i {path.name} -o {output.name} --model {_model(path)}"
        return Batch(
            id=token,
            phase="completed" if done else "cancelled" if stopped else "running",
            status="answered" if done else "stopped" if stopped else command,
            created_at=path.stat().st_mtime,
            tag=token,
            counts=Counts(total),
            parts=(("output", output.name),) if answered and (done or stopped) else (),
        )


def _write(intent: Intent, target: Path) -> None:
    if target.is_file():
        return  # a token stands for the questions themselves, in their order
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(_PART)
    with intent.file.open() as source, part.open("wb") as copy:
        shutil.copyfileobj(source, copy, _CHUNK)
        copy.flush()
        os.fsync(copy.fileno())
    part.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _lines(path: Path) -> int:
    """Whole lines that hold something."""
    with path.open("rb") as lines:
        return sum(1 for line in lines if line.endswith(b"\n") and line.strip())


def _model(path: Path) -> str:
    with path.open("rb") as lines:
        try:
            return msgspec.json.decode(lines.readline(), type=_Line).body.model
        except UNREADABLE:
            return "NAME"
