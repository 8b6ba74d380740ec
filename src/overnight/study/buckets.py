"""The buckets of a study: where a provider that works in the user's own storage reads questions and writes answers."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from overnight.core.ask import Buckets
from overnight.core.errors import UnknownName
from overnight.core.wording import found_text
from overnight.providers import bucket_owner, bucket_scheme, vendors
from overnight.study.origin import Origin, Route
from overnight.study.shape import shaped

_ADDRESS = re.compile(r"[a-z0-9]+://[^/\s]+(?:/\S*)?")


class _Shared(msgspec.Struct):
    buckets: Buckets


class StudyBuckets(msgspec.Struct, frozen=True, kw_only=True):
    """Those of one pair serve whichever provider wants buckets; where several do, each has its own."""

    shared: Buckets | None = None
    named: Mapping[str, Buckets] = {}

    def of(self, provider: str) -> Buckets | None:
        """None for a provider that uses none, or is given none."""
        if bucket_scheme(provider) is None:
            return None
        return self.shared if self.shared is not None else self.named.get(provider)

    @property
    def providers(self) -> frozenset[str]:
        """Those that have buckets."""
        return frozenset(name for name in vendors() if self.of(name) is not None)

    def route(self, provider: str) -> Route:
        """Where the provider's buckets were written."""
        return ("buckets",) if self.shared is not None else ("buckets", provider)


def read_buckets(raw: Mapping[str, Any] | None, origin: Origin) -> StudyBuckets | None:
    """Everything about the addresses that can be known without knowing who is asked."""
    if raw is None:
        return None
    if not any(isinstance(value, Mapping) for value in raw.values()):
        shared = shaped({"buckets": raw}, _Shared, origin).buckets
        _check_addresses(shared, ("buckets",), origin)
        return StudyBuckets(shared=shared)
    named: dict[str, Buckets] = {}
    for written, given in raw.items():
        buckets = _pair(given, ("buckets", written), origin)
        named[_owner(written, origin)] = buckets
        _check_addresses(buckets, ("buckets", written), origin)
    return StudyBuckets(named=named)


def _pair(given: Any, route: Route, origin: Origin) -> Buckets:
    if not isinstance(given, Mapping):
        raise origin.error(route, f"wanted a mapping, found {found_text(given)}")
    fields = Buckets.__struct_fields__
    for key in given:
        if key not in fields:
            raise origin.unknown_key(route, str(key), fields)
    for name in fields:
        if name not in given:
            raise origin.error(route, f"`{name}` is missing")
        if not isinstance(given[name], str):
            raise origin.error((*route, name), f"wanted text, found {found_text(given[name])}")
    return Buckets(**given)


def _owner(written: str, origin: Origin) -> str:
    try:
        name = bucket_owner(written)
    except UnknownName as error:
        raise origin.error(("buckets", written), str(error), UnknownName) from None
    if bucket_scheme(name) is None:
        raise origin.error(("buckets", written), f"{name} works in no buckets; leave it out")
    return name


def _check_addresses(buckets: Buckets, route: Route, origin: Origin) -> None:
    for name in Buckets.__struct_fields__:
        address = getattr(buckets, name)
        if not _ADDRESS.fullmatch(address):
            raise origin.error((*route, name), f"wanted an address such as gs://bucket/folder, found '{address}'")


def check_scheme(buckets: StudyBuckets, provider: str, origin: Origin) -> None:
    """Each provider has one kind of storage."""
    its_own, scheme = buckets.of(provider), bucket_scheme(provider)
    if its_own is None or scheme is None:
        return
    for name in Buckets.__struct_fields__:
        address = getattr(its_own, name)
        if not address.startswith(scheme):
            raise origin.error(
                (*buckets.route(provider), name),
                f"{provider} wants an address that begins with {scheme}, found '{address}'",
            )
