"""A whole vendor from one entry of data: a server that speaks OpenAI's chat completions, live and in batches."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint, Limits, Phase, ReadRates
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.openai_api.batches import Shape
from overnight.providers.openai_api.body import PATHS
from overnight.providers.openai_api.live import rates_of
from overnight.providers.openai_api.lookalike_format import (
    Family,
    Lines,
    LookalikeBatchFormat,
    LookalikeFormat,
    ReadRow,
    ReadThinking,
    Rules,
)
from overnight.providers.openai_api.rows import decode
from overnight.providers.openai_api.served import CREATE_FIELDS, UPLOAD_FIELDS, Batches, Calls
from overnight.providers.openai_api.windows import Windows

if TYPE_CHECKING:
    from overnight.providers.openai_api.connection import CallConnection, FileBatchConnection

__all__ = ["Family", "Lookalike", "LookalikeBatches", "LookalikeVendor"]


class LookalikeBatches(msgspec.Struct, frozen=True, kw_only=True):
    """How a look-alike takes batches. What is not given is as OpenAI has it; paths are below the base URL."""

    limits: Limits
    # The windows that a study may choose from (`extra: {completion_window: 7d}`); None: there is one.
    windows: Windows | None = None
    files_path: str = "/files"
    # Where a file is uploaded, if not where files are.
    upload_path: str | None = None
    batches_path: str = "/batches"
    upload_fields: Mapping[str, str] = UPLOAD_FIELDS
    create_fields: Mapping[str, str] = CREATE_FIELDS
    # What creates, and lines unless they are bare, name as the endpoint of chat completions.
    url: str = PATHS["chat"]
    bare_lines: bool = False
    # Whether a batch can carry our token as metadata; if not, its input alone tells whose it is.
    metadata: bool = True
    # Words for the states of a batch that are not OpenAI's.
    phases: Mapping[str, Phase] = {}
    # The field that holds the batch in the answer to a create; whether a listing is one bare list.
    created_in: str | None = None
    bare_listing: bool = False


class Lookalike(msgspec.Struct, frozen=True, kw_only=True):
    """What tells one such server from another. `thinking` gives the fields for a setting; None refuses it."""

    name: str
    title: str
    key_variable: str
    base_url_variable: str
    default_base_url: str = ""
    # Bare model names that can only be this vendor's.
    models: tuple[str, ...] = ()
    chat_path: str
    models_path: str
    # What an address must have: a path of its own, or none.
    address: str
    needs_key: bool = True
    thinking: ReadThinking
    # The fields for the longest answer and for the seed; the highest temperature; how a row is read.
    cap: str = "max_tokens"
    seed: str = "seed"
    hottest: float | None = None
    read: ReadRow = decode
    families: tuple[Family, ...] = ()
    rates: ReadRates = rates_of
    # None: it takes live calls and nothing else.
    batches: LookalikeBatches | None = None
    emulator_path: str
    remarks: str = ""


def _by_files(calls: Calls, batches: Batches, endpoint: Endpoint) -> "FileBatchConnection":
    # Who only encodes and decodes needs no network.
    from overnight.providers.openai_api.connection import FileBatchConnection  # noqa: PLC0415

    return FileBatchConnection(calls, batches, endpoint)


class LookalikeVendor:
    """The vendor that an entry makes."""

    def __init__(
        self, kind: Lookalike, connection: Callable[[Calls, Batches, Endpoint], "FileBatchConnection"] = _by_files
    ) -> None:
        """`connection` opens one, where batches travel otherwise."""
        self._kind = kind
        self._connection = connection
        self.name = kind.name
        self.key_variable = kind.key_variable
        self.base_url_variable = kind.base_url_variable
        self.default_base_url = kind.default_base_url
        self.models = kind.models
        self.emulator_path = kind.emulator_path
        self.format = _format(kind)
        self._calls = Calls(
            name=kind.name, path=lambda _: kind.chat_path, models_path=kind.models_path, rates=kind.rates
        )
        self._batches = _batches(kind)

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        kind = self._kind
        own = model.key if model is not None else None
        base_url = (model.base_url if model is not None else None) or environ.get(kind.base_url_variable)
        wanted = kind.needs_key or own is not None or environ.get(kind.key_variable)
        return Endpoint(
            base_url=_checked_url(kind, base_url or kind.default_base_url),
            key=found_key(environ, own or kind.key_variable, kind.title) if wanted else "",
        )

    def connect(self, endpoint: Endpoint) -> "CallConnection":
        if self._batches is not None:
            return self._connection(self._calls, self._batches, endpoint)
        # As above.
        from overnight.providers.openai_api.connection import CallConnection  # noqa: PLC0415

        return CallConnection(self._calls, endpoint)

    def guide(self) -> str:
        kind = self._kind
        key = f"`{kind.key_variable}`" + ("" if kind.needs_key else ", only where the server wants one")
        address = f"`{kind.base_url_variable}`, or `base_url` of a model" + (
            f"; default `{kind.default_base_url}`" if kind.default_base_url else ""
        )
        names = ", ".join(f"`{pattern}`" for pattern in kind.models)
        owned = (("bare model names", names),) if names else ()
        rows = (("key", key), ("address", address), *owned, *_guide_rows(kind.batches))
        table = "".join(f"| {name} | {value} |\n" for name, value in rows)
        return f"## {kind.name}\n\n| | |\n|---|---|\n{table}\n{kind.remarks}"


def _format(kind: Lookalike) -> LookalikeFormat:
    rules = Rules(
        name=kind.name,
        thinking=kind.thinking,
        families=kind.families,
        cap=kind.cap,
        seed=kind.seed,
        hottest=kind.hottest,
        read=kind.read,
    )
    given = kind.batches
    if given is None:
        return LookalikeFormat(rules)
    url = None if given.bare_lines else given.url
    return LookalikeBatchFormat(rules, Lines(limits=given.limits, url=url, windows=given.windows))


def _batches(kind: Lookalike) -> Batches | None:
    given = kind.batches
    if given is None:
        return None
    shape = Shape(
        name=kind.name,
        title=f"{kind.title}'s",
        phases=given.phases,
        created_in=given.created_in,
        bare_listing=given.bare_listing,
    )
    return Batches(
        shape=shape,
        endpoint=lambda _: given.url,
        files_path=given.files_path,
        upload_path=given.upload_path,
        batches_path=given.batches_path,
        upload_fields=given.upload_fields,
        create_fields=lambda model: {**given.create_fields, **(given.windows.field_of(model) if given.windows else {})},
        metadata=given.metadata,
        retention_days=given.limits.retention_days,
    )


def _guide_rows(batches: LookalikeBatches | None) -> tuple[tuple[str, str], ...]:
    if batches is None:
        return (("batches", "none: `mode: live`, or `auto`"),)
    limits = batches.limits
    window = f"{limits.window_seconds // 3600} hours"
    if batches.windows is not None:
        field, longest = batches.windows.field, batches.windows.longest
        window += f"; `extra: {{{field}: {longest}}}` of a model asks for the longest"
    told = {
        "requests in a batch": f"{limits.requests:,}",
        "bytes in a batch": f"{limits.bytes:,}",
        "bytes in one request": f"{limits.line_bytes:,}" if limits.line_bytes else "",
        "batches created per hour": f"{limits.creates_per_hour:,}" if limits.creates_per_hour else "",
        "batches at once": f"{limits.batches_at_once:,}" if limits.batches_at_once else "",
        "window": window,
        "results kept": f"{limits.retention_days} days" if limits.retention_days else limits.kept or "not published",
        "discount": limits.discount or "unknown",
    }
    return tuple((name, value) for name, value in told.items() if value)


def _checked_url(kind: Lookalike, address: str) -> str:
    where = f"{kind.base_url_variable} or base_url"
    if not address:
        raise StudyError(f"{where}: {kind.name} needs an address, such as {kind.address}")
    parts = address_parts(address, where, kind.address)
    has_path, wants_path = bool(parts.path.strip("/")), kind.address.count("/") > 2
    if parts.query or parts.fragment or (wants_path and not has_path):
        raise StudyError(f"{where}: '{address}' must include the path of the API, as in {kind.address}")
    given = address.strip().rstrip("/")
    # Some SDKs of a vendor want the path of the API in the address, where others do not.
    return given if wants_path else given.removesuffix(kind.chat_path.removesuffix("/chat/completions"))
