"""Who signed a request: the key id of a signature. That it is a good one is not checked here."""

from __future__ import annotations

import re

from aiohttp import web

_CREDENTIAL = re.compile(r"AWS4-HMAC-SHA256 Credential=(.+?)/\d{8}/[^/]+/(?:s3|bedrock)/aws4_request,")


def access_key(request: web.Request) -> str:
    """Empty where a request is not signed."""
    found = _CREDENTIAL.match(request.headers.get("Authorization", ""))
    return found[1] if found else ""
