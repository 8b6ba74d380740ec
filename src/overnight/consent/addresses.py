"""Where a key and rows may go: the vendor's own address, this machine, and what the user's own environment names."""

import ipaddress
from typing import Literal

import msgspec
from yarl import URL

from overnight.consent.given import grant_host, require_host
from overnight.consent.variables import looks_like_key, own_variable, owner_of
from overnight.core.errors import StudyError
from overnight.providers import Endpoint, Vendor, own_host

# Who named it: the vendor itself, the user's environment, a `.env` file, or a study or run.
Source = Literal["vendor", "environment", "env file", "study"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where rows would go, with which key, and on whose word. No variable: no key goes there."""

    vendor: Vendor
    endpoint: Endpoint
    variable: str
    address_from: Source
    key_from: Source
    buckets_from: Source | None = None

    @property
    def hosts(self) -> list[str]:
        """What needs the user's word if it is not the vendor's own."""
        buckets = self.endpoint.buckets
        stored = [] if buckets is None or self.buckets_from is None else [buckets.input, buckets.output]
        return [host_of(self.endpoint.base_url), *dict.fromkeys("/".join(uri.split("/")[:3]) for uri in stored)]


def check_variable(vendor: Vendor, variable: str, where: str) -> None:
    """A study may not have any variable it likes sent as a key, wherever it is sent."""
    if own_variable(vendor, variable) or looks_like_key(variable):
        return
    raise StudyError(
        f"{where}: {variable} does not look like a key for {vendor.name}, and is sent to nobody; if it is one, put it "
        f"into a variable whose name says so, such as {vendor.name.upper()}_LAB_KEY"
    )


def check_place(place: Place, where: str) -> None:
    """Raises where a key would travel in the open, and ConsentNeeded where nobody but a study named the address."""
    url = URL(place.endpoint.base_url)
    address, *buckets = place.hosts
    local = is_loopback(url.host or "")
    if place.variable and url.scheme == "http" and not local:
        raise StudyError(
            f"{where}: the key in {place.variable} would travel unencrypted to {address}; wanted an address with "
            "https://, a tunnel to this machine, or a server without a key"
        )
    if not local and not _is_trusted(place, url.host or ""):
        key = f"the rows and the key in {place.variable}" if place.variable else "the rows"
        require_host(address, place.variable, f"{where}: {key} would go to {address}, {_whose(place)}")
    stored = URL(place.endpoint.storage_url or "https://unknown.invalid").host or ""
    for bucket in buckets:
        if not is_loopback(stored) and not _is_named_by_user(place, place.buckets_from):
            require_host(bucket, "", f"{where}: the rows would go to the bucket {bucket}, which the study names")


def grant_place(place: Place) -> None:
    """The user's own program named it: that is the user's word, for a later `resume` as well."""
    address, *buckets = place.hosts
    local = is_loopback(URL(place.endpoint.base_url).host or "")
    if not local and not _is_trusted(place, URL(place.endpoint.base_url).host or ""):
        grant_host(address, place.variable)
    for bucket in buckets if place.buckets_from == "study" and not local else ():
        grant_host(bucket, "")


def check_told(address: str, variable: str, where: str) -> None:
    """The same for a place that is told how a run ended; `variable` holds the address where a study does not."""
    told = _told_at(address)
    if told is None:
        return
    if variable and URL(address).scheme == "http":
        raise StudyError(f"{where}: what is in {variable} would travel unencrypted; wanted an address with https://")
    named = f"as ${variable} and the study or run say" if variable else "as the study or run says"
    require_host(told, _told_by(variable), f"{where}: the run's end would be told to {told}, {named}")


def grant_told(address: str, variable: str) -> None:
    """The user's own program named it."""
    told = _told_at(address)
    if told is not None:
        grant_host(told, _told_by(variable))


def _told_at(address: str) -> str | None:
    """What needs the user's word. Of other services the name alone: where a host would stand may be a token."""
    scheme = address.partition("://")[0].lower()
    if scheme not in ("http", "https"):
        return f"notify:{scheme}"
    return None if is_loopback(URL(address).host or "") else host_of(address)


def _told_by(variable: str) -> str:
    """A word for this is none for rows or keys: no variable has such a name."""
    return f"notify:{variable}"


def _is_trusted(place: Place, host: str) -> bool:
    owner = owner_of(place.variable) if place.variable else None
    if owner is not None and not own_variable(place.vendor, place.variable):
        return False  # one vendor's usual key to another vendor
    return own_host(place.vendor, host) or _is_named_by_user(place, place.address_from)


def _is_named_by_user(place: Place, source: Source | None) -> bool:
    """A `.env` may lie in a folder that somebody sent: it may send its own key wherever it likes, and no other."""
    if source == "env file":
        return bool(place.variable) and place.key_from == "env file"
    return source in ("vendor", "environment")


def _whose(place: Place) -> str:
    usual = place.vendor.default_base_url
    # What is in capitals there is for the user to fill in.
    own = host_of(usual) if usual and usual == usual.lower() else ""
    if owner_of(place.variable) not in (None, place.vendor.name):
        return f"although that is the key of {owner_of(place.variable)}"
    named = "as .env says" if place.address_from == "env file" else "as the study or run says"
    return f"{named}, and not to {own}" if own else named


def host_of(address: str) -> str:
    """As `--allow-host` takes it: with its port where that is not the usual one."""
    url = URL(address)
    host = (url.host or "").rstrip(".").lower()
    if not host.isascii():
        host = (url.raw_host or host).lower()  # letters that look like others show what they are
    host = f"[{host}]" if ":" in host else host
    return host if url.is_default_port() else f"{host}:{url.port}"


def is_loopback(host: str) -> bool:
    """This machine itself."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
