"""A plain webhook: one POST of JSON, to the address that was named and to no other."""

import asyncio
import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from overnight.providers.wire.http import proxy_for


def post(address: str, body: bytes, limit: float) -> str:
    """Why it was not taken; empty where it was. Foreign errors hold the address: none of their words go further."""
    try:
        status = asyncio.run(_post(URL(address), body, limit))
    except TimeoutError:
        return f"no answer within {limit:g} seconds"
    except (aiohttp.ClientError, OSError):
        return "it cannot be reached"
    return "" if 200 <= status < 300 else f"it answered with status {status}"


async def _post(url: URL, body: bytes, limit: float) -> int:
    timeout = aiohttp.ClientTimeout(total=limit)
    headers = {"Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(resolver=_InThisThread())) as session,
        session.post(url, data=body, headers=headers, allow_redirects=False, proxy=proxy_for(url)) as reply,
    ):
        return reply.status


class _InThisThread(AbstractResolver):
    """Looks names up where it is called: a pool's thread that waits for a slow name server would hold up the exit."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        return [
            ResolveResult(hostname=host, host=str(place[0]), port=int(place[1]), family=kind, proto=proto, flags=0)
            for kind, _, proto, _, place in found
        ]

    async def close(self) -> None:
        """Nothing is open."""
