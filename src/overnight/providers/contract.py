"""What a vendor is made of: a pure format, and connections. Small verbs, no policy: when and how often is the engine's.

A connection is built for one endpoint (address, key, organisation), so nothing in it knows whether the
other end is real. Verbs that fail raise a ProviderError; a failed row is a Result, never an exception.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Literal, Protocol

import msgspec

from overnight.core.ask import Ask, Buckets, Model
from overnight.core.result import Line
from overnight.store.contract import StoredFile

Phase = Literal["running", "completed", "failed", "expired", "cancelled"]
Ours = Literal["yes", "no", "maybe"]
RefusalKind = Literal[
    "throttled",  # slow down and send the same again
    "unauthorized",  # the key is dead
    "no_credit",  # the account cannot pay
    "too_large",  # the file is over the provider's limit: cut it
    "too_few",  # a batch must hold more rows than this one: the user says how many
    "token_limit",  # too many tokens are queued already: wait for room
    "file_not_ready",  # the uploaded file is not visible yet: send the same again
    "unknown_model",
    "trouble",  # the provider failed on its own side: ask the rows again
    "invalid",  # refused for good
]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one batch may hold, what it must hold, and how many there may be."""

    requests: int
    bytes: int
    # The longest line, where there is such a limit.
    line_bytes: int | None = None
    # A batch of fewer rows is not taken.
    min_rows: int = 1
    creates_per_hour: int | None = None
    batches_at_once: int | None = None
    window_seconds: int = 86400
    retention_days: int | None = None
    # How long results are kept, where it is not a number of days; and what a batch is cheaper by. Empty: not known.
    kept: str = ""
    discount: str = ""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where to call and with what. `identity` names the place in the ledger when the address itself varies.

    Without a key, the vendor's own credentials are used: those in the file `credentials`, or the usual ones.
    `storage_url` and `buckets` are for a vendor whose batches read and write in the user's own storage.
    """

    base_url: str
    key: str
    organization: str | None = None
    project: str | None = None
    identity: str | None = None
    location: str | None = None
    credentials: str | None = None
    storage_url: str | None = None
    buckets: Buckets | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url})"  # the key never shows


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt, as far as a provider needs to know it."""

    token: str
    run: str
    model: Model
    rows: int
    bytes: int
    file: StoredFile
    description: str | None = None


class Fence(msgspec.Struct, frozen=True):
    """How far back a listing has to go: past every batch made since `at`, by the times that batches bear.

    Without `at` only its end will do. `date` is what the server's own clock showed then: one that shows less has been
    set back, and then times prove nothing.
    """

    at: float | None
    date: float | None = None


class Counts(msgspec.Struct, frozen=True):
    """A batch's rows as the provider counts them; all nought when it does not, or has forgotten."""

    total: int = 0
    completed: int = 0
    failed: int = 0
    # Rows that it says it did not run.
    unrun: int = 0


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why the provider said no, in our words and in its own."""

    kind: RefusalKind
    message: str
    retry_after: float | None = None
    token_limit: int | None = None
    line: int | None = None


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's batch as last seen. `parts` are (kind, reference) of the files that hold its rows."""

    id: str
    phase: Phase
    status: str
    created_at: float | None = None
    expires_at: float | None = None
    tag: str | None = None
    input_ref: str | None = None
    counts: Counts = Counts()
    parts: tuple[tuple[str, str], ...] = ()
    refusal: Refusal | None = None
    known_status: bool = True


class Sightings(msgspec.Struct, frozen=True):
    """A listing: what was seen, and whether it reached back to the fence.

    `endless`: it did not, and not because of trouble on the way. It goes round in circles, or on and on.
    `unread`: entries that nobody can read, any of which may be what is looked for.
    """

    batches: tuple[Batch, ...]
    complete: bool
    date: float | None = None
    endless: bool = False
    unread: int = 0


class CreateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What is known after one create was tried. Nothing is concluded here: see engine.decisions."""

    sent: bool
    status: int | None = None
    batch: Batch | None = None
    refusal: Refusal | None = None
    problem: str | None = None


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply's headers tell about the account's live limits; None where they say nothing.

    Limits are per minute.
    """

    requests_limit: int | None = None
    requests_remaining: int | None = None
    tokens_limit: int | None = None
    tokens_remaining: int | None = None


# What the headers of an answer tell of limits.
ReadRates = Callable[[Mapping[str, str]], Rates]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one live call. `sent` is false only when no byte of the question can have left."""

    sent: bool
    status: int | None = None
    body: bytes = b""
    problem: str | None = None
    retry_after: float | None = None
    rates: Rates = Rates()


class ModelRules(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model by its name: the words that `thinking` takes, options that it refuses, its longest
    answer in tokens, and its announced last day. None where nobody has said.
    """

    family: str
    thinking: tuple[str, ...]
    refuses: tuple[str, ...] = ()
    longest: int | None = None
    ends: date | None = None


class ReadyLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a provider file that the user made: its id, and what is asked of whom."""

    custom_id: str
    model: Model
    body: bytes
    # How long its answer may get; None where it does not say.
    max_tokens: int | None = None


class Format(Protocol):
    """The pure half of a vendor: no network, no clock, the same bytes for the same question."""

    def problems(self, model: Model) -> list[str]:
        """Rules of the model family that this combination breaks, in words; empty when it may be sent."""
        ...

    def encode(self, ask: Ask) -> bytes:
        """The request body: the same bytes live and in a batch."""
        ...

    def decode(self, line: bytes) -> Line:
        """Total: whatever bytes come, a Line, never an exception. Blanks and a line break around a line are nothing."""
        ...


class BatchFormat(Format, Protocol):
    """The format of a vendor that takes batches."""

    # Whether a batch carries our token, so that a listing alone tells whose it is. Where it does not, `ours` says
    # "maybe" at best, and the custom ids of the batch's rows decide when it has ended.
    tags: bool

    def limits(self, model: Model) -> Limits: ...
    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        """One line of a batch file, without its newline.

        The id, then the body, each as it is; all else is the same in every line of a model.
        """
        ...

    def read_line(self, line: bytes) -> ReadyLine:
        """A line of a ready-made provider file; StudyError says what is wrong with it."""
        ...

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours: ...


class ChoosesIds(BatchFormat, Protocol):
    """The format of a vendor whose batches get their ids from us: a create that went unanswered is asked for by it."""

    def batch_id(self, token: str) -> str: ...


class LiveFormat(Format, Protocol):
    """The format of a vendor that takes live calls. The body is `encode`'s, as in a batch."""

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        """The reply as a line of this vendor's batch output, without its newline: `decode` reads both alike."""
        ...


class Connection(Protocol):
    """The other half: a vendor at one endpoint. All network code is here, and nothing is retried."""

    endpoint: Endpoint

    async def check_key(self) -> str:
        """One cheap call that proves the key; returns what to tell the user."""
        ...

    async def close(self) -> None: ...


class BatchConnection(Connection, Protocol):
    """How batches travel."""

    async def upload(self, intent: Intent) -> str:
        """A reference to the input at the provider; empty where it travels with the create."""
        ...

    async def newest(self) -> Sightings:
        """The first page of the listing, newest first where the provider has an order."""
        ...

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        """Once, on a fresh connection, without a retry. Never raises for what happens on the wire."""
        ...

    async def recent(self, fence: Fence, pages: int) -> Sightings: ...
    async def retrieve(self, batch_id: str) -> Batch | None: ...
    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """Stream a part into `sink`; returns the length the provider announced. `Gone` past retention."""
        ...

    async def cancel(self, batch_id: str) -> Batch | None: ...
    async def remove_file(self, file_id: str) -> None: ...
    async def knows_file(self, file_id: str) -> bool: ...


class LiveConnection(Connection, Protocol):
    """How single questions travel."""

    async def call(self, model: Model, body: bytes) -> Reply:
        """Once, without a retry. Never raises for what happens on the wire."""
        ...


class OneModelAtATime(LiveConnection, Protocol):
    """A server that swaps models in and out of its memory: rows of one are asked before the next is loaded."""

    async def loaded(self) -> list[str]:
        """The models in its memory."""
        ...

    async def unload(self, model_name: str) -> None: ...


class Vendor(Protocol):
    """What the entry point `overnight.providers` names."""

    name: str
    key_variable: str
    base_url_variable: str
    default_base_url: str
    models: tuple[str, ...]
    emulator_path: str

    @property
    def format(self) -> Format: ...

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        """From the usual variables; Unauthorized names the variable that is missing."""
        ...

    def connect(self, endpoint: Endpoint) -> Connection: ...
