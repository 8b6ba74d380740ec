"""Keys of the OpenAI dialect: any is good, except those the truth speaks ill of."""

from __future__ import annotations

from aiohttp import web

from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.truth import Truth

# Where a dialect puts the key that it found elsewhere than OpenAI does.
KEY = "key"


def key_of(request: web.Request) -> str:
    return str(request.get(KEY) or bearer_key(request))


def bearer_key(request: web.Request) -> str:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def check_key(request: web.Request, truth: Truth) -> None:
    key = key_of(request)
    if not key:
        message = "You didn't provide an API key. Put it into the header as 'Authorization: Bearer KEY'."
        raise ApiError(401, message, code="invalid_api_key")
    if key in truth.keys.refuse:
        shown = f"{key[:3]}***{key[-4:]}"
        raise ApiError(401, f"Incorrect API key provided: {shown}.", code="invalid_api_key")


def check_credit(request: web.Request, truth: Truth) -> None:
    """Only what costs money is refused for lack of it."""
    key = key_of(request)
    if key in truth.keys.no_credit:
        message = "You exceeded your current quota, please check your plan and billing details."
        raise ApiError(429, message, kind="insufficient_quota", code="insufficient_quota")
    if key in truth.keys.hard_limit:
        message = "Billing hard limit has been reached."
        raise ApiError(400, message, kind="billing_limit_user_error", code="billing_hard_limit_reached")
