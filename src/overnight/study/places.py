"""Where a model of a study is asked: an address, the variable of a key, or a pool of several of them."""

import re
from collections.abc import Sequence
from typing import Protocol

from overnight.core.ask import Member
from overnight.study.origin import Origin, Route

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Twenty or more letters and digits in a row, both kinds among them: no variable is called that.
# Looked at run by run: a pattern that looks ahead at each letter would take hours over a long one.
_RUN = re.compile(r"[A-Za-z0-9]{20,}")
_SECRET_STARTS = ("sk-", "sk_", "gsk_", "xai-", "AIza")


class Placed(Protocol):
    """What an entry of `models` says of its places."""

    @property
    def key(self) -> str | None: ...
    @property
    def keys(self) -> list[str] | None: ...
    @property
    def base_url(self) -> str | list[str] | None: ...


def check_places(entry: Placed, origin: Origin, route: Route) -> None:
    if entry.key is not None and entry.keys is not None:
        raise origin.error((*route, "keys"), "`key` is one variable and `keys` are several; write only one of the two")
    if entry.key is not None:
        _check_key(entry.key, origin, (*route, "key"))
    if isinstance(entry.base_url, str):
        _check_base_url(entry.base_url, origin, (*route, "base_url"))
    keys, urls = entry.keys, entry.base_url if isinstance(entry.base_url, list) else None
    for listed, field in ((keys, "keys"), (urls, "base_url")):
        if listed is not None and not listed:
            raise origin.error((*route, field), "the list is empty")
    for index, name in enumerate(keys or ()):
        _check_key(name, origin, (*route, "keys", index))
    for index, url in enumerate(urls or ()):
        _check_base_url(url, origin, (*route, "base_url", index))
    if keys is not None and urls is not None and 1 < len(keys) != len(urls) > 1:
        wanted = "write as many of both, in the same order, or one of the two for all"
        raise origin.error((*route, "keys"), f"{len(keys)} keys for {len(urls)} addresses; {wanted}")
    _refuse_doubled(entry, origin, route)


def _refuse_doubled(entry: Placed, origin: Origin, route: Route) -> None:
    pool = pool_of(entry)
    for index, member in enumerate(pool):
        if member in pool[:index]:
            field = "base_url" if isinstance(entry.base_url, list) and len(entry.base_url) > 1 else "keys"
            what = "this address" if entry.keys is None else "this key" if field == "keys" else "this address and key"
            raise origin.error((*route, field, index), f"{what} is listed twice")


def pool_of(entry: Placed) -> tuple[Member, ...]:
    """Its places in the order of the study; at least one."""
    keys: Sequence[str | None] = entry.keys if entry.keys is not None else [entry.key]
    urls: Sequence[str | None] = entry.base_url if isinstance(entry.base_url, list) else [entry.base_url]
    most = max(len(keys), len(urls))
    return tuple(Member(key=keys[n % len(keys)], base_url=urls[n % len(urls)]) for n in range(most))


def pool_notes(entry: Placed, where: str) -> list[str]:
    """For who looks at a plan: among whom rows are spread."""
    pool = pool_of(entry)
    if len(pool) < 2:
        return []
    named = (" with ".join(filter(None, (member.base_url, member.key))) for member in pool)
    return [f"{where}: spread over {len(pool)} accounts: {', '.join(named)}"]


def _check_key(key: str, origin: Origin, route: Route) -> None:
    """Never shows the value: it may be the secret itself."""
    if key.startswith(_SECRET_STARTS) or looks_secret(key):
        wanted = "write the name of the environment variable that holds it, such as OPENAI_API_KEY"
        raise origin.error(route, f"this looks like an API key; {wanted}")
    if not _VARIABLE.fullmatch(key):
        raise origin.error(route, "wanted the name of an environment variable, such as OPENAI_API_KEY")


def looks_secret(text: str) -> bool:
    """Whether a part of it is what keys and tokens are made of, and no word."""
    return any(_is_mixed(run) for run in _RUN.findall(text))


def _is_mixed(run: str) -> bool:
    return not run.isalpha() and not run.isdigit()


def _check_base_url(url: str, origin: Origin, route: Route) -> None:
    if not re.match(r"https?://[^/\s]", url):
        raise origin.error(route, "wanted an address that begins with http:// or https://")
    if "@" in url.split("/")[2]:
        raise origin.error(route, "an address with a password in it; name the variable that holds it in `key`")
