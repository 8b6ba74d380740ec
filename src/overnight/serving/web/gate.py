"""Who may see a page: programs of this machine that bring the token, and nobody who only has the browser.

- Requests must be addressed to this machine by name (`Host`), so that no page of another site can reach us under a name
  that it has turned to our address, and must not come from a page of another site (`Origin`).
- The token is in the address that is printed. Whoever brings it gets a cookie that scripts cannot read and that other
  sites cannot send; from then on the address is free of it.
- A command takes a key that was given out with the page that asks for it, and that is good once.
"""

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from overnight.reporting.shown_text import escaped

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# The report brings a policy of its own, which names its script; here it is kept away from everything else.
REPORT_POLICY = "sandbox allow-scripts allow-downloads; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LOCAL = ("127.0.0.1", "localhost")
# Keys for commands that were given out and not used; the oldest go first, and none is good for longer than an hour.
_MOST_KEYS, _LASTS = 200, 3600.0


class Gate:
    """The token, the cookie and the keys of one dashboard, for as long as it lives."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(24)
        self._keys: dict[str, tuple[str, float]] = {}
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def _cookie(self) -> str:
        """Cookies do not tell ports apart: two dashboards must not take each other's away."""
        return f"overnight-{self.port}"

    def new_key(self, what: str) -> str:
        key = secrets.token_urlsafe(24)
        self._keys[key] = (what, time.monotonic())
        while len(self._keys) > _MOST_KEYS:
            self._keys.pop(next(iter(self._keys)))
        return key

    def use_key(self, key: str, what: str) -> bool:
        """Whether this key was given out for this, and was not used yet."""
        given = next((one for one in self._keys if _same(one, key)), None)
        if given is None:
            return False
        wanted, at = self._keys.pop(given)
        return wanted == what and time.monotonic() - at < _LASTS

    @web.middleware
    async def guard(self, request: web.Request, handler: Answer) -> web.StreamResponse:
        problem = self._problem(request)
        if problem is not None:
            return _refused(problem)
        given = request.query.get("token")
        if given is not None and _same(given, self.token):
            return self._welcome(request)
        if not _same(request.cookies.get(self._cookie, ""), self._session):
            return _refused(
                "this page needs the address that `overnight serve` printed, with its token; a dashboard that was "
                "started anew has a new one"
            )
        response = await handler(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _problem(self, request: web.Request) -> str | None:
        """What is wrong with where a request goes, or where it comes from."""
        here = {f"{name}:{self.port}" for name in _LOCAL}
        if request.headers.getall("Host", []) not in ([one] for one in here):
            return "this dashboard answers to 127.0.0.1 and localhost only"
        origins = request.headers.getall("Origin", [])
        if any(origin not in {f"http://{name}" for name in here} for origin in origins):
            return "requests from another site are not answered"
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none") and request.method != "GET":
            return "requests from another site are not answered"
        if request.method not in ("GET", "HEAD") and not origins:
            return "a command must say which page it comes from (Origin)"
        return None

    def _welcome(self, request: web.Request) -> web.Response:
        """Not by a redirect: a browser that came from elsewhere would not send a strict cookie along with it."""
        there = escaped(str(request.rel_url.without_query_params("token")))
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Overnight</title>'
            '<link rel="icon" href="data:,">'
            f'<meta http-equiv="refresh" content="0;url={there}"><p><a href="{there}">To the dashboard</a></p></html>'
        )
        response = web.Response(text=page, content_type="text/html", headers=_HEADERS)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="Strict", path="/")
        return response


def _same(one: str, other: str) -> bool:
    """In the same time, however much of it is the same."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


def _refused(why: str) -> web.Response:
    return web.Response(status=403, text=f"overnight: {why}\n", headers=_HEADERS)
