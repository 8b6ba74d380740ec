"""Which providers' keys are in the environment; their values are never shown."""

import polars as pl

from overnight.core.arguments import checked
from overnight.core.errors import StudyError, Unauthorized
from overnight.providers import vendors
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
