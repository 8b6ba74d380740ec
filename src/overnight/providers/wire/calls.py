"""Live calls over HTTP: kept connections, one try for each call, and everything that happens told as a Reply.

Thousands of these run in a row, so what is the same for all of them is made once: the address, the headers, the way
through a proxy. Nothing is compressed: an answer of a few kilobytes costs more to unpack than to receive.
"""

from collections.abc import Mapping

from yarl import URL

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import ProviderError
from overnight.providers.contract import Rates, ReadRates, Reply
from overnight.providers.reading.responses import retry_after_of
from overnight.providers.reading.secrets import Secrets
from overnight.providers.wire.bodies import IDENTITY, unpacked
from overnight.providers.wire.connections import Connections
from overnight.providers.wire.http import proxy_for
from overnight.providers.wire.route import Route, authority
from overnight.providers.wire.signing import KeyHeaders, Request, proof_of
from overnight.providers.wire.trouble import BROKEN_WIRE, no_connection, trouble_of

# A model may think for minutes before its first byte; a connection that is silent for longer is lost.
READ_SECONDS = 600.0
# Once it has begun, a whole answer is a matter of seconds.
BODY_SECONDS = 120.0

_ALWAYS = {"User-Agent": "overnight", **IDENTITY, "Content-Type": "application/json"}


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
        self._urls: dict[str, URL] = {}
        self._connections: Connections | None = None
        self._key_headers = key_headers
        # The bytes before a body, by path: the same for every call, until there is another proof of who asks.
        self._heads: dict[str, bytes] = {}
        self._proof: Mapping[str, str] | None = None

    async def call(self, path: str, body: bytes) -> Reply:
        """POST, once. Redirects are not followed: the key goes nowhere else."""
        try:
            connections = self._open() if self._connections is None else self._connections
            head = await self._head(path, body)
        except (ProviderError, OSError) as error:
            return Reply(sent=False, problem=str(error))
        checkpoint("send:call")
        try:
            connection = connections.kept() or await connections.opened()
        except BROKEN_WIRE as error:
            return Reply(sent=False, problem=no_connection(error, self._origin, self._secret))
        try:
            status, told, raw = await connection.ask(head, body)
            content = self._secrets.hidden(unpacked(raw, told.get("content-encoding", "")))
        except BROKEN_WIRE as error:
            problem = trouble_of(error, self._origin, self._secret)
            return Reply(sent=True, status=connection.status, problem=problem)
        finally:
            connections.give_back(connection)
        checkpoint("sent:call")
        if status == 200 and not _is_whole(content):
            return Reply(sent=True, status=status, problem=f"the answer of {self._origin} is not whole")
        return Reply(
            sent=True,
            status=status,
            body=content,
            retry_after=None if status < 300 else retry_after_of(told),
            rates=self._rates(told),
        )

    async def close(self) -> None:
        if self._connections is not None:
            await self._connections.close()
            self._connections = None

    async def _head(self, path: str, body: bytes) -> bytes:
        proof = await proof_of(self._key_headers, lambda: Request("POST", str(self._url(path)), _ALWAYS, body))
        if proof is not self._proof and proof != self._proof:
            self._proof = proof
            self._heads.clear()
            self._secrets.know(proof)
        head = self._heads.get(path)
        if head is None:
            head = self._heads[path] = self._new_head(self._url(path), proof)
        return head

    def _new_head(self, url: URL, proof: Mapping[str, str]) -> bytes:
        """Up to where the length of the body is written."""
        headers = {"Host": authority(url), **_ALWAYS, **proof}
        if self._route.proxy_proof is not None:
            headers["Proxy-Authorization"] = self._route.proxy_proof
        target = str(url) if self._route.names_whole_address else url.raw_path_qs
        lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        if any(mark in line for line in lines for mark in "\r\n\0"):
            raise ProviderError(f"a header for {self._origin} holds a line break, which no header may")
        return "\r\n".join([*lines, "Content-Length: "]).encode()

    def _url(self, path: str) -> URL:
        url = self._urls.get(path)
        if url is None:
            url = URL(self._base + path, encoded=True)
            url = self._urls[path] = url.update_query(self._query) if self._query else url
        return url

    def _open(self) -> Connections:
        """How many calls there are at once is decided before they get here."""
        self._route = Route(self._origin, proxy_for(self._origin))
        self._connections = Connections(self._route, self._read_seconds, self._read_seconds + BODY_SECONDS)
        return self._connections


def _is_whole(answer: bytes) -> bool:
    """An answer is a JSON object, or a list, whoever gives it: one that does not end as it began broke off."""
    text = answer.strip()
    return (text[:1], text[-1:]) in ((b"{", b"}"), (b"[", b"]"))
