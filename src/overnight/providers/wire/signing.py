"""How a request proves who asks: headers that are always the same, or that are made for each request."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from overnight.store.contract import StoredFile


class Request(NamedTuple):
    """A request as it is about to be sent, for whoever signs it.

    The body is a file where one is sent as it is, and None where it is put together on the way: a form, or lines in an
    envelope.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | StoredFile | None = b""


# A token that lasts an hour is asked for anew at each call; a signature is of one request.
KeyHeaders = Mapping[str, str] | Callable[[Request], Awaitable[Mapping[str, str]]]


async def proof_of(keys: KeyHeaders, request: Callable[[], Request]) -> Mapping[str, str]:
    """The headers that prove who asks; the request is only put together where somebody looks at it."""
    return await keys(request()) if callable(keys) else keys
