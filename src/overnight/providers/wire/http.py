"""HTTP as every vendor needs it: one try per call, errors in our words, and no key outside its origin.

Nothing is retried here, save that aiohttp repeats a GET, a PUT or a DELETE once when a kept connection proves dead.
Foreign errors end at this file: they carry request headers, so they are put into words and dropped, never chained.
"""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from http.client import responses as status_words
from typing import Any, Literal, TypeVar
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import (
    OutOfCredit,
    ProviderError,
    Rejected,
    Throttled,
    Unauthorized,
    Unavailable,
)
from overnight.providers.reading.complaints import complaint_of
from overnight.providers.reading.responses import UNSETTLED, Response, Sending, epoch_of, retry_after_of
from overnight.providers.reading.secrets import Secrets
from overnight.providers.wire.bodies import (
    IDENTITY,
    MOST_BYTES,
    Body,
    Envelope,
    Form,
    Pace,
    SentFile,
    on_its_way,
    pieces,
    whole,
)
from overnight.providers.wire.connected import Connected
from overnight.providers.wire.route import certificates
from overnight.providers.wire.signing import KeyHeaders, Request, proof_of
from overnight.providers.wire.trouble import BROKEN_WIRE, trouble_of
from overnight.store.contract import StoredFile

Verb = Literal["upload", "list", "create", "retrieve", "fetch", "cancel", "delete"]
T = TypeVar("T")

_MOST_HOPS = 5
_MOVED = frozenset({301, 302, 303, 307, 308})


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `read` is the longest silence; a small reply has `total` from first to last, a file its slowest pace."""

    connect: float = 15.0
    read: float = 120.0
    total: float = 300.0
    upload_bytes_per_second: float = 20_000.0
    download_bytes_per_second: float = 5_000.0


def proxy_for(url: URL) -> str | None:
    """The proxy that the environment names for this address; never one for this machine itself."""
    host = url.host or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(url.scheme)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _as_signed(body: Body) -> bytes | StoredFile | None:
    """A body as who signs it wants it; None where it is put together on the way."""
    if isinstance(body, SentFile):
        return body.bare
    return b"" if body is None else body if isinstance(body, bytes) else None


class Wire:
    """One vendor's address with its key headers. Made anywhere; its session is made in the running loop."""

    def __init__(
        self,
        vendor: str,
        base_url: str,
        key_headers: KeyHeaders,
        *,
        secret: str,
        timeouts: Timeouts | None = None,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """`query` goes with every call."""
        self._vendor = vendor
        self._query = query or {}
        self._base = base_url.rstrip("/")
        self._origin = URL(self._base).origin()
        self._key_headers = key_headers
        self._secret = secret
        self._secrets = Secrets(self._origin.host or "")
        self._timeouts = timeouts or Timeouts()
        self._session: aiohttp.ClientSession | None = None

    async def ask(
        self,
        verb: Verb,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        also: Collection[int] = (),
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        most: int = MOST_BYTES,
    ) -> Response:
        """One call with an answer of up to `most` bytes. Raises for every failure but the statuses in `also`."""
        what = f"{method} {path}"
        typed = {"Content-Type": "application/json"} if body is not None else {}
        checkpoint(f"send:{verb}")
        stream = self._answer(what, method, self._url(path, query), headers={**typed, **(headers or {})}, data=body)
        reply = await self._told(what, asyncio.wait_for(self._whole(what, stream, most), self._timeouts.total))
        checkpoint(f"sent:{verb}")
        return self._checked(what, reply, also)

    async def upload(self, path: str, fields: Mapping[str, str], file: StoredFile, filename: str) -> Response:
        """A multipart form whose last part is a file, read while it is sent."""
        what, form = f"POST {path}", Form(fields, file, filename)
        stream = self._answer(what, "POST", self._url(path), headers=form.headers, data=form)
        return self._checked(what, await self._sent_file(what, form.length, stream))

    async def ask_form(self, path: str, fields: Mapping[str, str], *, also: Collection[int] = ()) -> Response:
        """A form of fields alone. A redirect among `also` is an answer, and is not followed."""
        what = f"POST {path}"
        # Without a file it would be a form of the other kind, which not every server reads.
        form = aiohttp.MultipartWriter("form-data")
        for name, value in fields.items():
            form.append(value).set_content_disposition("form-data", name=name)
        checkpoint("send:upload")
        stream = self._answer(what, "POST", self._url(path), data=form, stay=True)
        reply = await self._told(what, asyncio.wait_for(self._whole(what, stream), self._timeouts.total))
        checkpoint("sent:upload")
        return self._checked(what, reply, also)

    async def send_file(
        self,
        path: str,
        file: StoredFile,
        *,
        query: Mapping[str, str] | None = None,
        also: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> Response:
        """A file as the body of a request. An address that the provider gave for it is asked without the key."""
        own = path.startswith("/")
        url = self._url(path, query) if own else self._given_url(path)
        what, body = f"{method} {url.path}", SentFile(file)
        stream = self._answer(what, method, url, headers=headers, data=body, keyed=own)
        return self._checked(what, await self._sent_file(what, body.length, stream), also)

    async def _sent_file(self, what: str, size: int, stream: Any) -> Response:
        patience = self._patience(size)
        checkpoint("send:upload")
        reply = await self._told(what, asyncio.wait_for(self._whole(what, stream), patience))
        checkpoint("sent:upload")
        return reply

    def _patience(self, size: int) -> float:
        return self._timeouts.read + size / self._timeouts.upload_bytes_per_second

    def _given_url(self, address: str) -> URL:
        try:
            url = URL(address, encoded=True)
        except ValueError:
            url = URL()
        if url.scheme == "https" or (url.scheme == "http" and self._origin.scheme == "http"):
            return url
        raise Unavailable(f"{self._vendor}: the address given for the file is of no use")

    async def download(
        self, path: str, sink: Callable[[bytes], None], *, also: Collection[int] = (), signed: bool = False
    ) -> Response:
        """Stream a file into `sink`. The reply has the announced length, where it is one of plain bytes.

        An address given for the file is asked without the key, if it is at another origin or `signed` for all to use.
        """
        url = self._url(path) if path.startswith("/") else self._given_url(path)
        what, keyed = f"GET {url.path}", url.origin() == self._origin and not signed
        checkpoint("send:fetch")
        async with self._answer(what, "GET", url, roam=True, keyed=keyed) as response:
            if response.status != 200:
                reply = await self._told(what, asyncio.wait_for(self._read(what, response), self._timeouts.total))
            else:
                pace = Pace(self._timeouts.total, self._timeouts.download_bytes_per_second)
                coming = pieces(response, pace)
                # The sink's own errors (a full disk) are not the wire's, hence no `_told` around it.
                hiding = self._secrets.hiding(sink)
                while (chunk := await self._told(what, anext(coming, None))) is not None:
                    hiding(chunk)
                hiding.end()
                encoded = response.headers.get("Content-Encoding", "identity") != "identity"
                reply = Response(
                    status=200,
                    date=epoch_of(response.headers.get("Date")),
                    length=None if encoded else response.content_length,
                )
        checkpoint("sent:fetch")
        return self._checked(what, reply, also)

    async def send_once(self, verb: Verb, path: str, body: bytes | Envelope) -> Sending:
        """One POST on a connection of its own, which carries nothing else; never raises for the wire."""
        connected = Connected()
        url = self._url(path)
        try:
            plain = {**IDENTITY, "Content-Type": "application/json"}
            headers = {**await self._keys(Request("POST", str(url), plain, _as_signed(body))), **plain}
        except ProviderError as error:
            return Sending(sent=False, problem=str(error))
        patience = self._timeouts.total
        if isinstance(body, Envelope):
            patience += self._patience(body.length)
        status = None
        async with self._new_session(alone=True, traces=[connected.trace()]) as session:
            checkpoint(f"send:{verb}")
            try:
                with on_its_way(body) as (data, told):
                    sent = {**headers, **told}
                    async with (
                        asyncio.timeout(patience),
                        session.post(
                            url, data=data, headers=sent, allow_redirects=False, proxy=proxy_for(url)
                        ) as response,
                    ):
                        status = response.status
                        reply = await self._whole_reply(response)
            except BROKEN_WIRE as error:
                trouble = connected.trouble(trouble_of(error, self._origin, self._secret))
                return Sending(sent=connected.yes, status=status, problem=trouble)
            checkpoint(f"sent:{verb}")
            return Sending(sent=True, status=status, reply=reply)

    def explain(self, what: str, reply: Response) -> str:
        """A failed reply in one line that is safe to show."""
        said = complaint_of(reply.body, self._secret)
        word = status_words.get(reply.status, "")
        code = f", {said.code}" if said.code else ""
        message = f": {said.message}" if said.message else (f": {word}" if word else "")
        return f"{self._vendor}: {what} failed (HTTP {reply.status}{code}){message}"

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _url(self, path: str, query: Mapping[str, str] | None = None) -> URL:
        url = URL(self._base + path, encoded=True)
        asked = {**self._query, **(query or {})}
        return url.update_query(asked) if asked else url

    def _new_session(
        self, *, alone: bool = False, traces: list[aiohttp.TraceConfig] | None = None
    ) -> aiohttp.ClientSession:
        # Cookies would travel with the key from call to call; nothing here needs them.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1 if alone else 100, force_close=alone, ssl=certificates()),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "overnight"},
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=self._timeouts.connect, sock_read=self._timeouts.read
            ),
            trace_configs=traces,
            auto_decompress=False,
        )

    @asynccontextmanager
    async def _answer(
        self,
        what: str,
        method: str,
        url: URL,
        *,
        headers: Mapping[str, str] | None = None,
        data: Body = None,
        roam: bool = False,
        stay: bool = False,
        keyed: bool = True,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response, after redirects. Only a download may roam, and it leaves the key at home.

        Who stays takes a redirect for the answer that it is.
        """
        if self._session is None:
            self._session = self._new_session()
        for _ in range(_MOST_HOPS):
            plain = {**IDENTITY, **(headers or {})}
            proof = await self._keys(Request(method, str(url), plain, _as_signed(data))) if keyed else {}
            with on_its_way(data) as (content, told):
                sent = {**proof, **plain, **told}
                response = await self._told(
                    what,
                    self._session.request(
                        method, url, headers=sent, data=content, allow_redirects=False, proxy=proxy_for(url)
                    ),
                )
                async with response:
                    if stay or response.status not in _MOVED or "Location" not in response.headers:
                        yield response
                        return
                    url = self._next_stop(what, method, response, roam=roam)
            keyed = keyed and url.origin() == self._origin
        raise Unavailable(f"{self._vendor}: {what} was redirected more than {_MOST_HOPS} times")

    def _next_stop(self, what: str, method: str, response: aiohttp.ClientResponse, *, roam: bool) -> URL:
        try:
            url = response.url.join(URL(response.headers["Location"], encoded=True))
            place = f"{url.scheme}://{url.host}:{url.port}"
        except ValueError:
            url, place = response.url, ""
        if not place or url.scheme not in ("http", "https"):
            raise Unavailable(f"{self._vendor}: {what} was redirected to an address of no use")
        downgraded = response.url.scheme == "https" and url.scheme == "http"
        if method != "GET" or downgraded or not (roam or url.origin() == self._origin):
            # A portal on the way does this too: it is no verdict on what was sent.
            raise Unavailable(
                f"{self._vendor}: {what} was redirected to {place}, where the key does not go; "
                f"if that is the right place, make it the base URL"
            )
        return url

    async def _keys(self, request: Request) -> Mapping[str, str]:
        headers = await proof_of(self._key_headers, lambda: request)
        self._secrets.know(headers)
        return headers

    async def _whole(self, what: str, stream: Any, most: int = MOST_BYTES) -> Response:
        async with stream as response:
            return await self._read(what, response, most)

    async def _read(self, what: str, response: aiohttp.ClientResponse, most: int = MOST_BYTES) -> Response:
        return await self._told(what, self._whole_reply(response, most))

    async def _whole_reply(self, response: aiohttp.ClientResponse, most: int = MOST_BYTES) -> Response:
        return Response(
            status=response.status,
            body=self._secrets.hidden(await whole(response, most)),
            date=epoch_of(response.headers.get("Date")),
            retry_after=retry_after_of(response.headers),
            headers=self._secrets.hidden_headers(response.headers),
        )

    def _checked(self, what: str, reply: Response, also: Collection[int] = ()) -> Response:
        if reply.ok or (reply.status in also and not reply.is_web_page):
            return reply
        raise self._error(what, reply)

    def _error(self, what: str, reply: Response) -> ProviderError:
        words = self.explain(what, reply)
        if reply.on_the_way:
            return Unavailable(f"{words} (not in {self._vendor}'s words: something on the way has answered)")
        said = complaint_of(reply.body)
        if said.no_credit:
            return OutOfCredit(words)
        if reply.status in (401, 403) or said.dead_key:
            return Unauthorized(words)
        if reply.status == 429:
            return Throttled(words, reply.retry_after if reply.retry_after is not None else said.retry_after)
        if reply.status >= 500 or reply.status in UNSETTLED:
            return Unavailable(words)
        return Rejected(words, "too_large" if reply.status == 413 else "invalid")

    async def _told(self, what: str, awaited: Awaitable[T]) -> T:
        """Await; a broken wire becomes Unavailable, unchained from an error that holds our headers."""
        try:
            return await awaited
        except BROKEN_WIRE as error:
            trouble = trouble_of(error, self._origin, self._secret)
        raise Unavailable(f"{self._vendor}: {what}: {trouble}")
