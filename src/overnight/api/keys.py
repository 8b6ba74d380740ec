"""`keys`: which providers have a key here, and whether it works. The keys themselves are never shown."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from overnight.core.arguments import checked
from overnight.core.ask import Model, places_of
from overnight.core.errors import OvernightError, ProviderError, StudyError
from overnight.emulation import endpoint_of
from overnight.providers import Vendor, bucket_scheme, offer_of, vendor, vendors
from overnight.providers.endpoints import NO_KEY, can_be_key
from overnight.settings import Settings, settings
from overnight.study import Study, resolve


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
def keys(study: Study | str | Path | None = None, *, check: bool = True) -> list[KeyStatus]:
    """One line for each provider, or for each account that a study names; `check` asks with one cheap call."""
    place = settings(emulate=False)
    wanted: list[tuple[Vendor, Model | None]] = [(one, None) for one in vendors().values()]
    if study is not None:
        resolved = resolve(study if isinstance(study, Study) else Study.load(Path(study)))
        models = places_of(arm.model for stage in resolved.stages for arm in stage.arms)
        wanted = [(vendor(model.provider), model) for model in models]
    found = ((one, _status(one, model, place, check=check)) for one, model in wanted)
    return [msgspec.structs.replace(status, takes=offer_of(one).words) for one, status in found]


def _status(vendor: Vendor, model: Model | None, place: Settings, *, check: bool) -> KeyStatus:
    variable = (model.key if model is not None else None) or vendor.key_variable
    try:
        endpoint = endpoint_of(vendor, model, place, None)
    except OvernightError as error:
        named = model.base_url if model is not None else None
        address = named or place.environ.get(vendor.base_url_variable) or vendor.default_base_url
        return KeyStatus(
            provider=vendor.name,
            variable=variable,
            address=address,
            found=False,
            works=None,
            message=str(error),
        )
    own = endpoint.credentials is None and bucket_scheme(vendor.name) is None
    if own and model is None and not endpoint.key and not place.environ.get(vendor.base_url_variable):
        # A server of one's own: nobody knows whether it is meant to be there.
        return KeyStatus(
            provider=vendor.name,
            variable=vendor.key_variable,
            address=endpoint.base_url,
            found=False,
            works=None,
            message=f"needs no key; {vendor.base_url_variable} names {_what(endpoint.base_url)}",
        )
    works, message = (None, "not checked") if not check else asyncio.run(_checked(vendor, model, place))
    return KeyStatus(
        provider=vendor.name,
        variable=variable,
        address=endpoint.base_url,
        found=True,
        works=works,
        message=message,
    )


def _what(address: str) -> str:
    return "the folder for files" if address.startswith("file:") else "a server to be tried"


async def _checked(vendor: Vendor, model: Model | None, place: Settings) -> tuple[bool, str]:
    provider = vendor.connect(endpoint_of(vendor, model, place, None))
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
    if not can_be_key(api_key.strip()):
        raise StudyError(f"api_key: {NO_KEY}")
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
