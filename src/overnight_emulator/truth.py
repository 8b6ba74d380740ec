"""The truth: what is so in the emulated world, as data (see `docs/emulator.md` for each key)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from overnight_emulator.faults.kinds import Fault, Share
from overnight_emulator.patterns import DEFAULT

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Whole = Annotated[int, msgspec.Meta(ge=0)]
Span = tuple[NotNegative, NotNegative]
ShareByText = Share | dict[str, Share]
PerMinute = Whole | dict[str, Whole]


class Spread(msgspec.Struct, frozen=True):
    """Virtual seconds around a median: two of three lie within the factor, a few far above it."""

    median: Positive
    factor: Annotated[float, msgspec.Meta(ge=1)] = 2.0


class Latency(msgspec.Struct, frozen=True):
    """Virtual seconds, drawn evenly between the two; live ones also around a median."""

    batch: Span = (300.0, 1800.0)
    live: Span | Spread = (0.2, 1.5)


class Models(msgspec.Struct, frozen=True):
    """Names that do not exist, and how much models read and write where it is other than published."""

    unknown: tuple[str, ...] = ("gpt-0*", "*-typo")
    context_tokens: dict[str, Whole] = msgspec.field(default_factory=dict)
    output_tokens: dict[str, Whole] = msgspec.field(default_factory=dict)


class Keys(msgspec.Struct, frozen=True):
    refuse: tuple[str, ...] = ()
    no_credit: tuple[str, ...] = ()
    hard_limit: tuple[str, ...] = ()


class Limits(msgspec.Struct, frozen=True):
    """Of one batch: nought means the provider's own limit. Of live calls, by the minute: none by default."""

    requests: Whole = 0
    bytes: Whole = 0
    fewest_requests: Whole = 0
    enqueued_tokens: dict[str, Whole] = msgspec.field(default_factory=dict)
    creates_per_hour: Whole = 2_000
    requests_per_minute: PerMinute = msgspec.field(default_factory=dict)
    tokens_per_minute: PerMinute = msgspec.field(default_factory=dict)
    shard_rows: Annotated[int, msgspec.Meta(ge=1)] = 10_000


class Buckets(msgspec.Struct, frozen=True):
    """Patterns of bucket names: those that do not exist, and those that a caller or the service may not use."""

    missing: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    refuse_service: tuple[str, ...] = ()


class Answers(msgspec.Struct, frozen=True):
    """Shares of the answers that come out otherwise than asked for."""

    refused: Share = 0.0
    truncated: Share = 0.0
    filtered: Share = 0.0
    # Where a tool may be called and is not asked for by name.
    calls: Share = 0.0
    # Of those that keep to an answer: how many begin with words that sound like giving in.
    polite: Share = 0.0

    @property
    def any(self) -> bool:
        return self.refused + self.truncated + self.filtered > 0


class Judge(msgspec.Struct, frozen=True):
    noise: Positive = 0.5
    position_bias: float = 0.0
    tie: Share = 0.0
    # How often a judge takes giving in for holding out, or the other way round.
    misread: Share = 0.0


class Ideas(msgspec.Struct, frozen=True):
    """What comes of it when a model is asked for a list of texts: inputs, scenarios and the like."""

    # How hard the first ones are on average, and how far single ones are from that; each says so of itself.
    difficulty: Share = 0.4
    spread: Share = 0.2
    # Where a prompt shows earlier ones, new ones are so much harder than those on average.
    gain: float = 0.1
    # Shares of those that say again what another one of the same list says, and of those that are of no use.
    repeated: Share = 0.1
    useless: Share = 0.1


class PlantedCall(msgspec.Struct, frozen=True):
    """A call that a model makes when it is told so."""

    call: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class QualitiesFile(msgspec.Struct, frozen=True):
    """A CSV file with a column of texts and a column of qualities."""

    file: str


class Truth(msgspec.Struct, frozen=True):
    seed: int = 0
    # None: as whoever starts the emulator wants it.
    strict: bool | None = None
    time_scale: Positive = 1.0
    latency: Latency = Latency()
    tokens_per_character: dict[str, Positive] = msgspec.field(default_factory=lambda: {DEFAULT: 0.25})
    tokens_per_file: dict[str, Whole] = msgspec.field(default_factory=lambda: {DEFAULT: 258})
    models: Models = Models()
    keys: Keys = Keys()
    limits: Limits = Limits()
    buckets: Buckets = Buckets()
    answers: Answers = Answers()
    qualities: dict[str, float] = msgspec.field(default_factory=dict)
    judge: Judge = Judge()
    ideas: Ideas = Ideas()
    compliance: dict[str, ShareByText] = msgspec.field(default_factory=lambda: {DEFAULT: 0.8})
    flip: dict[str, ShareByText] = msgspec.field(default_factory=lambda: {DEFAULT: 0.1})
    answer_with: dict[str, str | PlantedCall] = msgspec.field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
