"""Keys and passwords that come back: gateways repeat what they were sent, in errors, in rows and in headers.

They are made unreadable where replies enter, before anything is read, kept or told. What replaces them is as long as
they were, so that lengths and offsets stay true.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies

# Shorter ones are words that answers may hold for reasons of their own.
_SHORTEST = 12
_SHORTEST_IN_MESSAGES = 4
# An access token lapses after an hour: replies to what was sent with the one before it are long here by then.
_KEPT = 4
_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "x-amz-security-token")
_SIGNED_BY = re.compile(r"Credential=([^/,\s]+)")

Sink = Callable[[bytes], None]

# How many replies of a host have repeated a secret, until somebody asks.
_echoes: Counter[str] = Counter()


def taken_echoes() -> dict[str, int]:
    """By host, the replies that repeated a key since this was last asked."""
    found = dict(_echoes)
    _echoes.clear()
    return found


def add_echoes(found: dict[str, int]) -> None:
    """Those that another process of ours has met."""
    _echoes.update(found)


def spellings(secret: str) -> Iterator[str]:
    """A secret as it is, in an address, in JSON, and inside Base64 whatever stands before it."""
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret.encode()).decode().rstrip("=")
        # The first characters also hold what stands before, the last one what comes after.
        inner = encoded[(0, 2, 3)[shift] : len(encoded) - 1]
        yield inner
        yield inner.replace("+", "-").replace("/", "_")


@lru_cache(maxsize=64)
def _forms(secrets: tuple[str, ...], shortest: int) -> tuple[str, ...]:
    known = {
        form for secret in secrets if len(secret) >= shortest for form in spellings(secret) if len(form) >= shortest
    }
    return tuple(sorted(known, key=len, reverse=True))


def proxy_passwords() -> tuple[str, ...]:
    """Those in the addresses of the environment's proxies."""
    found: list[str] = []
    for address in getproxies().values():
        try:
            password = urlsplit(address if "://" in address else f"http://{address}").password
        except ValueError:
            continue
        found += [password, unquote(password)] if password else []
    return tuple(dict.fromkeys(found))


def without_secrets(text: str, *secrets: str) -> str:
    """A message without them, and without the passwords of proxies."""
    for form in _forms((*secrets, *proxy_passwords()), _SHORTEST_IN_MESSAGES):
        text = text.replace(form, "[key]")
    return text


def _keys_in(value: str) -> Iterator[str]:
    """A signature is made for each request: what stays the same in all of them is the name of the key."""
    if value.startswith("AWS4-"):
        yield from _SIGNED_BY.findall(value)
    yield value.removeprefix("Bearer ")


class Secrets:
    """What one wire proves itself with, looked for in all that comes back on it."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._headers: Mapping[str, str] | None = None
        self._keys: tuple[str, ...] = ()
        self._proxies = proxy_passwords()
        self._known: tuple[bytes, ...] = ()

    def know(self, headers: Mapping[str, str]) -> None:
        """The headers that are sent from here on. Replies to the ones before may still be on their way."""
        if headers is not self._headers:
            self._headers = headers
            sent = (value for name, value in headers.items() if name.lower() in _HEADERS)
            keys = (key for value in sent for key in _keys_in(value))
            self._keys = tuple(dict.fromkeys((*keys, *self._keys)))[:_KEPT]
            self._known = tuple(form.encode() for form in _forms((*self._keys, *self._proxies), _SHORTEST))

    def are_in(self, data: bytes) -> bool:
        return any(form in data for form in self._known)

    def hidden(self, data: bytes) -> bytes:
        found = False
        for form in self._known:
            if form in data:
                found = True
                data = data.replace(form, b"*" * len(form))
        if found:
            _echoes[self._host] += 1
        return data

    def hidden_headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """As they are, unless one holds a secret."""
        if not any(form.decode() in value for form in self._known for value in headers.values()):
            return headers
        kept = type(headers)()
        for name, value in headers.items():
            kept.add(name, self.hidden(value.encode("utf-8", "surrogateescape")).decode())  # type: ignore[attr-defined]
        return kept

    def hiding(self, sink: Sink) -> "Hiding":
        return Hiding(self, sink, max(map(len, self._known), default=1) - 1)


class Hiding:
    """A sink that hides secrets, also where one piece ends in the middle of one.

    It is a piece behind. Where two pieces meet is looked at by itself, and neither is copied for it.
    """

    def __init__(self, secrets: Secrets, sink: Sink, held: int) -> None:
        self._secrets = secrets
        self._sink = sink
        self._held = held
        self._last = b""

    def __call__(self, piece: bytes) -> None:
        last, held = self._last, self._held
        if min(len(last), len(piece)) >= held and not self._secrets.are_in(last[len(last) - held :] + piece[:held]):
            ready, self._last = last, self._secrets.hidden(piece)
        else:
            data = self._secrets.hidden(last + piece)
            cut = max(0, len(data) - held)
            ready, self._last = data[:cut], data[cut:]
        if ready:
            self._sink(ready)

    def end(self) -> None:
        if self._last:
            self._sink(self._last)
            self._last = b""
