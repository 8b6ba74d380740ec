"""What the leader and an actor tell each other, in bytes. Keys are in `OpenQueue` and nowhere else."""

import msgspec

from overnight.core.ask import Model
from overnight.core.result import Result
from overnight.engine.live.pace import Pacing
from overnight.providers.contract import Endpoint


class OpenQueue(msgspec.Struct, frozen=True, kw_only=True, tag="open"):
    """One model of one account. Queues of an account share its connection and its pauses."""

    queue: int
    account: int
    provider: str
    endpoint: Endpoint
    density: float
    pacing: Pacing
    # Queues that share the files which the actor's process may open.
    places: int


class Row(msgspec.Struct, frozen=True, array_like=True):
    """A question that is announced. Numbers of a queue only rise, so that no row is taken twice."""

    number: int
    custom_id: str
    body: bytes


class Rows(msgspec.Struct, frozen=True, kw_only=True, tag="rows"):
    queue: int
    model: Model
    rows: tuple[Row, ...]


class StopQueue(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Begin no further call, and give back what was not called."""

    queue: int


class Landed(msgspec.Struct, frozen=True, array_like=True):
    number: int
    raw: bytes | None
    result: Result


class QueueNews(msgspec.Struct, frozen=True, kw_only=True):
    """How a queue stands, and what came since the last time."""

    queue: int
    size: int
    pauses: int
    landed: tuple[Landed, ...] = ()
    given_back: tuple[int, ...] = ()
    # Why the account is of no use any more: the kind of error, and its words.
    failure: tuple[str, str] | None = None
    # A fault of our own.
    fault: str | None = None


class News(msgspec.Struct, frozen=True, kw_only=True):
    queues: tuple[QueueNews, ...] = ()
    # By host: replies that repeated a key, which was made unreadable.
    echoes: dict[str, int] = {}


Told = OpenQueue | Rows | StopQueue

_told = msgspec.msgpack.Decoder(tuple[Told, ...])
_news = msgspec.msgpack.Decoder(News)
encode = msgspec.msgpack.Encoder().encode


def read_told(message: bytes) -> tuple[Told, ...]:
    return _told.decode(message)


def read_news(message: bytes) -> News:
    return _news.decode(message)
