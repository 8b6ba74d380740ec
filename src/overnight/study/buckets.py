"""The buckets of a study: where a provider that works in the user's own storage reads questions and writes answers."""

import re

from overnight.core.ask import Buckets
from overnight.study.origin import Origin

_ADDRESS = re.compile(r"[a-z0-9]+://[^/\s]+(?:/\S*)?")


def check_buckets(buckets: Buckets | None, origin: Origin) -> None:
    """Everything about the addresses that can be known without a provider."""
    if buckets is None:
        return
    for name in Buckets.__struct_fields__:
        address = getattr(buckets, name)
        if not _ADDRESS.fullmatch(address):
            raise origin.error(("buckets", name), f"wanted an address such as gs://bucket/folder, found '{address}'")


def check_scheme(buckets: Buckets, scheme: str, provider: str, origin: Origin) -> None:
    """Each provider has one kind of storage."""
    for name in Buckets.__struct_fields__:
        address = getattr(buckets, name)
        if not address.startswith(scheme):
            raise origin.error(
                ("buckets", name), f"{provider} wants an address that begins with {scheme}, found '{address}'"
            )
