"""The question: one prompt to one model, at one address in the study."""

import hashlib
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant"]
Thinking = Literal["off", "on", "minimal", "low", "medium", "high"] | int

# The first bytes of every key's preimage: a change in what a key covers gets a new tag.
KEY_SCHEME = b"ask/1"
KEY_PREFIX = "a1"

_canonical = msgspec.json.Encoder(order="deterministic")


class Message(msgspec.Struct, frozen=True, gc=False):
    role: Role
    content: str


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a model is to answer, in words every provider's compiler understands."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    thinking: Thinking | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: dict[str, Any] | None = None
    api: Literal["chat", "responses"] | None = None
    extra: dict[str, Any] = {}


class Buckets(msgspec.Struct, frozen=True, kw_only=True):
    """Where questions and answers lie at a provider that keeps them in the user's own storage."""

    input: str
    output: str


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One account or replica of a pool. `key` names an environment variable, never a key."""

    key: str | None = None
    base_url: str | None = None


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One model of one provider with its options. `key` names an environment variable, never a key."""

    provider: str
    name: str
    options: Options = Options()
    key: str | None = None
    base_url: str | None = None
    buckets: Buckets | None = None
    # Accounts or replicas that answer as one. The first has the key and the address above, by which all are known.
    pool: tuple[Member, ...] = ()

    @property
    def members(self) -> tuple["Model", ...]:
        """The model at each place that may answer for it."""
        if not self.pool:
            return (self,)
        replace = msgspec.structs.replace
        return tuple(replace(self, key=one.key, base_url=one.base_url, pool=()) for one in self.pool)

    @property
    def full_name(self) -> str:
        """As a study writes it."""
        return f"{self.provider}/{self.name}"


def places_of(models: Iterable[Model]) -> list[Model]:
    """One model for each place that any of them is asked at: a provider, a key, an address."""
    everywhere = (one for model in models for one in model.members)
    return list({(one.provider, one.key, one.base_url): one for one in everywhere}.values())


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of template, model, thinking and direction in a stage: what travels together."""

    stage: str
    name: str
    template: str
    model: Model
    direction: Literal["forward", "reverse"] = "forward"


class Ask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One question. The address says where its answer goes; the key says what is asked."""

    arm: Arm
    item: str
    messages: tuple[Message, ...]
    replicate: int = 0
    turn: int = 0
    # Occurrences that are separate votes on the same words carry different numbers.
    vote: int = 0


class Item(msgspec.Struct, frozen=True, gc=False):
    """One row of the researcher's table."""

    id: str
    fields: dict[str, Any]


def question_of(model: Model) -> bytes:
    """The model's part of every key: who is asked, and how; never the API key.

    An address that the study names is part of who is asked: two servers may serve different models by one name. Members
    of a pool do not: they come and go, and the first stands for all.
    """
    return _canonical.encode([model.provider, model.name, model.options, model.base_url])


class _LastQuestion:
    """Its words and their JSON, in one pair that is replaced as a whole."""

    pair: tuple[tuple[Message, ...], bytes] = ((), b"[]")


_last = _LastQuestion()


def messages_json(messages: tuple[Message, ...]) -> bytes:
    """A question's words as JSON. Its key and its body both want them, one after the other: they are encoded once."""
    known, text = _last.pair
    if known is not messages:
        text = _canonical.encode(messages)
        _last.pair = messages, text
    return text


class KeyMaker:
    """Keys for the questions of one arm; what all of them begin with is hashed once."""

    def __init__(self, arm: Arm) -> None:
        self._start = hashlib.blake2b(KEY_SCHEME, digest_size=16)
        self._start.update(question_of(arm.model))
        self._start.update(b"[")

    def key(self, ask: Ask, *, shared: bool = True) -> bytes:
        """Equal keys are one question. `shared=False` makes every address a question of its own."""
        state = self._start.copy()
        state.update(messages_json(ask.messages))
        state.update(b",%d]" % ask.vote)
        if not shared:
            state.update(_canonical.encode([ask.arm.name, ask.item, ask.replicate, ask.turn]))
        return state.digest()


def key_text(key: bytes) -> str:
    """The key as tables show it."""
    return KEY_PREFIX + key.hex()


def thinking_text(thinking: Thinking | None) -> str:
    """As tables and arm names show it."""
    return "default" if thinking is None else str(thinking)
