"""Live calls over HTTP: kept connections, one try for each call, and everything that happens told as a Reply.

Thousands of these run in a row, so what is the same for all of them is made once: the address, the headers, the way
through a proxy. Nothing is compressed: an answer of a few kilobytes costs more to unpack than to receive.
"""

from collections.abc import Callable, Mapping

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import ProviderError
from overnight.providers.contract import Rates, Reply
from overnight.providers.reading.responses import retry_after_of
from overnight.providers.reading.secrets import Secrets
from overnight.providers.wire.bodies import IDENTITY, whole
from overnight.providers.wire.http import proxy_for, trouble_of
from overnight.providers.wire.signing import KeyHeaders, Request, proof_of

# A model may think for minutes before its first byte; a connection that is silent for longer is lost.
READ_SECONDS = 600.0
# Once it has begun, a whole answer is a matter of seconds.
BODY_SECONDS = 120.0
_CONNECT_SECONDS = 15.0
# The addresses of providers change rarely, and a lookup costs more than a call's own work.
_DNS_SECONDS = 300
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_BROKEN_WIRE = (aiohttp.ClientError, OSError, TimeoutError)

_ALWAYS = {"User-Agent": "overnight", **IDENTITY, "Content-Type": "application/json"}

ReadRates = Callable[[Mapping[str, str]], Rates]


def no_rates(_: Mapping[str, str]) -> Rates:
    """For servers that tell nothing about their limits."""
    return Rates()


class LiveWire:
    """One vendor's address for live calls. Made anywhere; its session is made in the running loop."""

    def __init__(
        self,
        base_url: str,
        key_headers: KeyHeaders,
        *,
        secret: str,
        rates: ReadRates = no_rates,
        read_seconds: float = READ_SECONDS,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """`query` goes with every call."""
        self._query = query or {}
        self._base = base_url.rstrip("/")
        self._origin = URL(self._base).origin()
        self._secret = secret
        self._secrets = Secrets(self._origin.host or "")
        self._rates = rates
        self._read_seconds = read_seconds
        self._proxy = proxy_for(URL(self._base))
        self._urls: dict[str, URL] = {}
        self._session: aiohttp.ClientSession | None = None
        self._key_headers = key_headers
        self._proof: Mapping[str, str] | None = None
        self._headers: CIMultiDict[str] = CIMultiDict()

    async def call(self, path: str, body: bytes) -> Reply:
        """POST, once. Redirects are not followed: the key goes nowhere else."""
        session = self._session or self._open()
        status: int | None = None
        try:
            headers = await self._sent_headers(path, body)
        except ProviderError as error:
            return Reply(sent=False, problem=str(error))
        checkpoint("send:call")
        try:
            async with session.post(
                self._url(path), data=body, headers=headers, allow_redirects=False, proxy=self._proxy
            ) as response:
                status = response.status
                content = self._secrets.hidden(await whole(response))
        except _BROKEN_WIRE as error:
            sent = not isinstance(error, _UNSENT)
            return Reply(sent=sent, status=status, problem=trouble_of(error, self._origin, self._secret))
        checkpoint("sent:call")
        if status == 200 and not _is_whole(content):
            return Reply(sent=True, status=status, problem=f"the answer of {self._origin} is not whole")
        told = response.headers
        return Reply(
            sent=True,
            status=status,
            body=content,
            retry_after=None if status < 300 else retry_after_of(told),
            rates=self._rates(told),
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _sent_headers(self, path: str, body: bytes) -> CIMultiDict[str]:
        """The same for every call, until there is another proof of who asks."""
        proof = await proof_of(self._key_headers, lambda: Request("POST", str(self._url(path)), _ALWAYS, body))
        if proof != self._proof:
            self._proof, self._headers = proof, CIMultiDict({**_ALWAYS, **proof})
            self._secrets.know(proof)
        return self._headers

    def _url(self, path: str) -> URL:
        url = self._urls.get(path)
        if url is None:
            url = URL(self._base + path, encoded=True)
            url = self._urls[path] = url.update_query(self._query) if self._query else url
        return url

    def _open(self) -> aiohttp.ClientSession:
        # How many calls there are at once is decided before they get here.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=_DNS_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=self._read_seconds + BODY_SECONDS, sock_connect=_CONNECT_SECONDS, sock_read=self._read_seconds
            ),
            skip_auto_headers=("Accept", "User-Agent"),
            auto_decompress=False,
        )
        return self._session


def _is_whole(answer: bytes) -> bool:
    """An answer is a JSON object, or a list, whoever gives it: one that does not end as it began broke off."""
    text = answer.strip()
    return (text[:1], text[-1:]) in ((b"{", b"}"), (b"[", b"]"))
