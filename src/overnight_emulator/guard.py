"""Who may talk to the emulator: programs on this machine, and no web page in its browser.

A page may send requests to the loopback, and may give a name of its own the loopback's address (DNS rebinding). Both
show: in `Origin` and `Sec-Fetch-Site`, and in a `Host` that is no name of this machine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

_ANYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - as the user typed them
_FROM_ELSEWHERE = {"cross-site", "same-site"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guard(names: Collection[str] = ()) -> Any:
    """Refuses what a web page sent. `names` are those that the user listens on and allows, beside the loopback's."""
    allowed = {name.lower().strip("[]") for name in names}

    @web.middleware
    async def refuse_strangers(request: web.Request, handler: Handler) -> web.StreamResponse:
        problem = stranger(request.headers.get("Host"), request.headers.get("Origin"), allowed)
        if problem is None and request.headers.get("Sec-Fetch-Site") in _FROM_ELSEWHERE:
            problem = "a page of another site sent this"
        if problem is not None:
            return web.Response(status=403, text=f"overnight emulator: {problem}\n")
        return await handler(request)

    return refuse_strangers


def stranger(host: str | None, origin: str | None, allowed: Collection[str]) -> str | None:
    """Why a request with these headers is refused; None when it is not."""
    if host is not None and not _is_ours(f"//{host}", allowed):
        return f"'{host[:100]}' is no name of this machine; --allow-host lets it in"
    if origin is not None and not _is_ours(origin, allowed):
        return f"a page of '{origin[:100]}' sent this, which is not of this machine"
    return None


def _is_ours(address: str, allowed: Collection[str]) -> bool:
    try:
        name = (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost") or name in {*allowed} - _ANYWHERE:
        return True
    try:
        number = ip_address(name)
    except ValueError:
        return False
    # A bare number is nobody's name: no page can give it another address.
    return number.is_loopback or str(number) in allowed or not _ANYWHERE.isdisjoint(allowed)
