"""A vendor at one endpoint, and what may be wanted of it."""

from dataclasses import dataclass
from typing import Protocol, TypeGuard, cast

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.contract import (
    BatchConnection,
    BatchFormat,
    ChoosesIds,
    Connection,
    Endpoint,
    Format,
    LiveConnection,
    LiveFormat,
    OneModelAtATime,
    Vendor,
)


@dataclass(frozen=True, slots=True)
class Provider:
    """A vendor at one endpoint: both halves together."""

    name: str
    format: Format
    connection: Connection

    @property
    def endpoint(self) -> Endpoint:
        return self.connection.endpoint


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a vendor takes, in words; empty where it takes none, or where nobody has said."""

    requests: str = ""
    size: str = ""
    window: str = ""
    kept: str = ""
    discount: str = ""
    live: bool = False

    @property
    def words(self) -> str:
        """In one line."""
        told = (f"batches: {self.requests} requests", self.size, self.window, f"kept: {self.kept}")
        known = ", ".join((*told, f"discount: {self.discount}")) if self.requests else ""
        return "; ".join(part for part in (known, "live calls" if self.live else "") if part)


class Offline:
    """In place of a connection, where nothing is to be sent or fetched."""

    endpoint = Endpoint(base_url="offline", key="")

    async def check_key(self) -> str:
        return "offline"

    async def close(self) -> None: ...


class Formatted(Protocol):
    """A vendor, or one at an endpoint."""

    @property
    def name(self) -> str: ...
    @property
    def format(self) -> Format: ...


def connected(vendor: Vendor, endpoint: Endpoint) -> Provider:
    return Provider(vendor.name, vendor.format, vendor.connect(endpoint))


def unconnected(vendor: Vendor) -> Provider:
    """The vendor where its format alone is needed."""
    return Provider(vendor.name, vendor.format, Offline())


def takes_batches(one: Formatted) -> bool:
    return _is_for_batches(one.format)


def takes_calls(one: Formatted) -> bool:
    return _is_for_calls(one.format)


def chooses_ids(format_: BatchFormat) -> TypeGuard[ChoosesIds]:
    return hasattr(format_, "batch_id")


def swaps_models(connection: Connection) -> TypeGuard[OneModelAtATime]:
    return hasattr(connection, "unload")


def batch_format(one: Formatted) -> BatchFormat:
    """The format where a batch is wanted of the vendor."""
    if not _is_for_batches(one.format):
        raise StudyError(f"{one.name} takes no batches; write `mode: live`, or `mode: auto`")
    return one.format


def live_format(one: Formatted) -> LiveFormat:
    """The format where a live call is wanted of the vendor."""
    if not _is_for_calls(one.format):
        raise StudyError(f"{one.name} takes no live calls; write `mode: batch`")
    return one.format


def batch_floor(one: Formatted, model: Model) -> int:
    """The fewest rows that a batch of this model may hold."""
    return one.format.limits(model).min_rows if _is_for_batches(one.format) else 1


def offer_of(one: Formatted) -> Offer:
    """What is the same for most of a vendor's models."""
    live = takes_calls(one)
    if not takes_batches(one):
        return Offer(live=live)
    limits = batch_format(one).limits(Model(provider=one.name, name="*"))
    fewest = f"{limits.min_rows:,} to " if limits.min_rows > 1 else ""
    return Offer(
        requests=f"{fewest}{limits.requests:,}",
        size=f"{limits.bytes // 1_000_000:,} MB",
        window=f"{limits.window_seconds // 3600} h" if limits.window_seconds else "no window",
        kept=f"{limits.retention_days} days" if limits.retention_days else limits.kept or "not published",
        discount=limits.discount or "unknown",
        live=live,
    )


def batches_of(provider: Provider) -> BatchConnection:
    """The connection where a batch is wanted of it."""
    batch_format(provider)
    return cast(BatchConnection, provider.connection)


def calls_of(provider: Provider) -> LiveConnection:
    """The connection where a live call is wanted of it."""
    live_format(provider)
    return cast(LiveConnection, provider.connection)


def _is_for_batches(format_: Format) -> TypeGuard[BatchFormat]:
    return hasattr(format_, "line")


def _is_for_calls(format_: Format) -> TypeGuard[LiveFormat]:
    return hasattr(format_, "live_line")
