"""Keys of Google's dialects: an API key, or an access token; any is good, except those the truth speaks ill of."""

from __future__ import annotations

from aiohttp import web

from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.truth import Truth


def api_key_of(request: web.Request) -> str:
    return request.headers.get("x-goog-api-key") or request.query.get("key", "")


def access_token_of(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def check_api_key(request: web.Request, truth: Truth) -> None:
    key = api_key_of(request)
    if not key:
        message = (
            "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity."
        )
        raise GoogleError(403, message)
    if key in truth.keys.refuse:
        raise GoogleError(400, "API key not valid. Please pass a valid API key.", reason="API_KEY_INVALID")


def check_access(request: web.Request, truth: Truth) -> None:
    """A token of Google Cloud, or an API key in its place."""
    key = access_token_of(request) or api_key_of(request)
    if not key or key in truth.keys.refuse:
        message = "Request had invalid authentication credentials. Expected OAuth 2 access token."
        raise GoogleError(401, message, reason="ACCESS_TOKEN_TYPE_UNSUPPORTED" if not key else "ACCESS_TOKEN_EXPIRED")


def check_credit(request: web.Request, truth: Truth) -> None:
    """Only what costs money is refused for lack of it."""
    key = access_token_of(request) or api_key_of(request)
    if key in truth.keys.no_credit:
        raise GoogleError(429, "Your prepayment credits are depleted. Please go to your project's billing page.")
    if key in truth.keys.hard_limit:
        message = "This API method requires billing to be enabled. Please enable billing on the project."
        raise GoogleError(403, message, reason="BILLING_DISABLED")
