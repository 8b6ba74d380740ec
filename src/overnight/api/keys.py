"""`keys`: which providers have a key here, and whether it works. The keys themselves are never shown."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from overnight.core.arguments import checked
from overnight.core.errors import OvernightError, ProviderError, StudyError
from overnight.emulation import endpoint_of
from overnight.providers import Vendor, bucket_scheme, offer_of, vendor, vendors
from overnight.settings import Settings, settings


class KeyStatus(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    variable: str
    address: str
    found: bool
    works: bool | None
    message: str
    # What the provider takes: batches, and up to what; live calls.
    takes: str = ""


@checked
def keys(*, check: bool = True) -> list[KeyStatus]:
    """One line for each provider; `check` asks the provider with one cheap call."""
    place = settings(emulate=False)
    found = ((vendor, _status(vendor, place, check=check)) for vendor in vendors().values())
    return [msgspec.structs.replace(status, takes=offer_of(vendor).words) for vendor, status in found]


def _status(vendor: Vendor, place: Settings, *, check: bool) -> KeyStatus:
    try:
        endpoint = endpoint_of(vendor, None, place, None)
    except OvernightError as error:
        address = place.environ.get(vendor.base_url_variable) or vendor.default_base_url
        return KeyStatus(
            provider=vendor.name,
            variable=vendor.key_variable,
            address=address,
            found=False,
            works=None,
            message=str(error),
        )
    own = endpoint.credentials is None and bucket_scheme(vendor.name) is None
    if own and not endpoint.key and not place.environ.get(vendor.base_url_variable):
        # A server of one's own: nobody knows whether it is meant to be there.
        return KeyStatus(
            provider=vendor.name,
            variable=vendor.key_variable,
            address=endpoint.base_url,
            found=False,
            works=None,
            message=f"needs no key; {vendor.base_url_variable} names {_what(endpoint.base_url)}",
        )
    works, message = (None, "not checked") if not check else asyncio.run(_checked(vendor, place))
    return KeyStatus(
        provider=vendor.name,
        variable=vendor.key_variable,
        address=endpoint.base_url,
        found=True,
        works=works,
        message=message,
    )


def _what(address: str) -> str:
    return "the folder for files" if address.startswith("file:") else "a server to be tried"


async def _checked(vendor: Vendor, place: Settings) -> tuple[bool, str]:
    provider = vendor.connect(endpoint_of(vendor, None, place, None))
    try:
        return True, await provider.check_key()
    except ProviderError as error:
        return False, str(error)
    finally:
        await provider.close()


@contextmanager
def key_of(backend: str, api_key: str | None) -> Iterator[None]:
    """A key of the caller's own goes before the environment's while the block runs. It is written nowhere."""
    if api_key is None:
        yield
        return
    if not api_key.strip():
        raise StudyError("api_key: wanted a key, found an empty text")
    variable = vendor(backend).key_variable
    before = os.environ.get(variable)
    os.environ[variable] = api_key
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before
