"""Fireworks' format: chat completions. The job names the model, and no line does."""

from typing import Any

import msgspec

from overnight.core.ask import Ask, Model, Thinking
from overnight.providers.contract import Limits, ReadyLine
from overnight.providers.fireworks.rows import decode
from overnight.providers.openai_api.lookalike_format import Lines, LookalikeBatchFormat, Rules

LIMITS = Limits(requests=50_000, bytes=150_000_000, discount="50%")
_HOME = "accounts/fireworks/models/"
_json = msgspec.json.Encoder()
_GUIDE = """\
## fireworks

| | |
|---|---|
| key | `FIREWORKS_API_KEY`; `key: VARIABLE` of a model names another |
| account | `FIREWORKS_ACCOUNT_ID`, for batches |
| address | `FIREWORKS_BASE_URL`, or `base_url` of a model; default `https://api.fireworks.ai` |
| bare model names | `accounts/*`; a name without a slash is one of `accounts/fireworks/models/` |
| requests in a batch | {requests:,} (Overnight's own: none is published) |
| bytes in a batch | {bytes:,} (the least of those that are published) |
| window | 24 hours |
| results kept | not published |
| discount | {discount} |

An input is a dataset, and a job has an id; both are chosen here, so that a lost answer leaves no second one. `thinking:
off` is sent as `reasoning_effort: none`, `on` as `medium`, levels by their names; a token budget is refused. One row
that cannot be read fails a whole job. Jobs can be deleted, with what they have finished, but not cancelled: `cancel`
sends nothing more, and takes what comes. How the file of failed rows looks is not published: rows with an id and an
error are read, others are reported.
"""


def thinking(setting: Thinking) -> dict[str, Any] | None:
    if isinstance(setting, int):
        return None
    return {"reasoning_effort": {"off": "none", "on": "medium"}.get(setting, setting)}


class FireworksFormat(LookalikeBatchFormat):
    """How Fireworks is asked and how it answers."""

    def __init__(self) -> None:
        rules = Rules(name="fireworks", thinking=thinking, read=decode)
        super().__init__(rules, Lines(limits=LIMITS, url=None))

    def encode(self, ask: Ask) -> bytes:
        """Without the model."""
        head = self._forms.of(ask.arm.model).head
        return b"{" + super().encode(ask)[len(head) + 1 :]

    def ready_line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        return self.line(model, custom_id, with_model(model, body))

    def read_line(self, line: bytes) -> ReadyLine:
        ready = super().read_line(line)
        asked = msgspec.json.decode(ready.body, type=dict[str, msgspec.Raw])
        asked.pop("model")
        return msgspec.structs.replace(ready, body=_json.encode(asked))

    def batch_id(self, token: str) -> str:
        """Begins with a letter, and has small letters and digits."""
        return f"o{token}"


def full_name(model: Model) -> str:
    return model.name if "/" in model.name else _HOME + model.name


def with_model(model: Model, body: bytes) -> bytes:
    """For a request that stands by itself: a call, or a ready-made line."""
    return b'{"model":%b,%b' % (_json.encode(full_name(model)), body[1:])


def guide() -> str:
    return _GUIDE.format(requests=LIMITS.requests, bytes=LIMITS.bytes, discount=LIMITS.discount)
