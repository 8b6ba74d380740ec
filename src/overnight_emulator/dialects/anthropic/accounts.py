"""Keys and versions of the Anthropic dialect: any key is good, except those the truth speaks ill of."""

from __future__ import annotations

from aiohttp import web

from overnight_emulator.dialects.anthropic.errors import ApiError
from overnight_emulator.truth import Truth

NEWEST = "2026-10-21"
VERSIONS = ("2023-06-01", NEWEST)


def key_of(request: web.Request) -> str:
    """Either header will do; where both are sent, the older one counts."""
    own = request.headers.get("x-api-key", "").strip()
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return own or (key.strip() if scheme.lower() == "bearer" else "")


def version_of(request: web.Request) -> str:
    return request.headers.get("anthropic-version", "")


def check_caller(request: web.Request, truth: Truth) -> None:
    key = key_of(request)
    if not key:
        raise ApiError(401, "An API key is required, in the header Authorization or x-api-key.")
    if key in truth.keys.refuse:
        raise ApiError(401, "invalid x-api-key")
    version = version_of(request)
    if version not in VERSIONS:
        found = f'"{version}" is not a valid version' if version else "header is required"
        raise ApiError(400, f"anthropic-version: {found}")


def check_credit(request: web.Request, truth: Truth) -> None:
    """Only what costs money is refused for lack of it."""
    key = key_of(request)
    if key in truth.keys.no_credit:
        raise ApiError(400, "Your credit balance is too low to access the API. Please go to Plans & Billing.")
    if key in truth.keys.hard_limit:
        message = "Your organization has reached its spend limit."
        raise ApiError(429, message, code="enforced_spend_limit_reached")
