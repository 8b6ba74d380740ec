"""Which providers' keys are in the environment; their values are never shown."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from overnight.core.arguments import checked
from overnight.core.errors import StudyError, Unauthorized
from overnight.providers import vendor, vendors
from overnight.settings import settings


@checked
def check_llm_api_keys(verbose: bool = True) -> pl.DataFrame:
    """`backend, service, env_var, has_key` for every provider there is."""
    environ = settings().environ
    rows = []
    for name, one in vendors().items():
        try:
            one.endpoint(environ, None)
            found = True
        except (Unauthorized, StudyError):  # no key, or a key without the place it is for
            found = False
        rows.append({"backend": name, "service": one.default_base_url, "env_var": one.key_variable, "has_key": found})
        if verbose:
            print(f"{one.key_variable}: {'set' if found else 'not set'}")  # noqa: T201 - a notebook's reader
    return pl.DataFrame(rows)


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
