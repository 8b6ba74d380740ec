"""A broken wire in words that are safe to show: errors of libraries carry request headers, and end here."""

import ssl

import aiohttp
from yarl import URL

from overnight.providers.reading.complaints import scrub
from overnight.providers.wire.bodies import TooMuch
from overnight.providers.wire.exchange import BrokeOff, Disconnected

# What a wire raises; anything else is a fault of our own.
BROKEN_WIRE = (aiohttp.ClientError, BrokeOff, Disconnected, OSError, TimeoutError)
_OWN_AUTHORITY = "; a certificate authority of your own is named in SSL_CERT_FILE"


def trouble_of(error: Exception, origin: URL, secret: str) -> str:
    """What happened, at whose address, without the key."""
    place = f"{origin.host}:{origin.port}"
    if isinstance(error, TimeoutError):
        return f"no answer from {place} in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        return no_connection(error.os_error, origin, secret)
    if isinstance(error, TooMuch):
        return f"{place} sent {error}"
    if isinstance(error, aiohttp.ClientPayloadError | BrokeOff):
        return f"the answer of {place} broke off"
    return f"the connection to {place} broke ({scrub(str(error) or type(error).__name__, secret)})"


def no_connection(error: Exception, origin: URL, secret: str) -> str:
    """Nothing was sent, because nobody could be reached, or proved who they are."""
    place = f"{origin.host}:{origin.port}"
    if isinstance(error, TimeoutError) and not error.args:
        return f"no connection to {place} (no answer in time)"
    words = scrub(getattr(error, "strerror", None) or str(error) or type(error).__name__, secret)
    hint = _OWN_AUTHORITY if isinstance(error, ssl.SSLCertVerificationError) else ""
    return f"no connection to {place} ({words}{hint})"
