"""Access tokens of Google Cloud: from the usual credentials, made anew before they lapse.

google-auth is an extra: it is imported when a token is first wanted, and not before.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from overnight.core.errors import Unauthorized, Unavailable
from overnight.providers.reading.complaints import scrub
from overnight.providers.vertex.sign_in import USUAL_FILE
from overnight.providers.wire.signing import Request

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


class _File(msgspec.Struct):
    type: str = ""


class Tokens:
    """Headers that prove who asks: a token that was given, or one that the credentials make."""

    def __init__(self, given: str, credentials_file: str | None) -> None:
        self._given = given
        self._file = credentials_file
        self._credentials: Any = None
        self._making = asyncio.Lock()

    async def headers(self, _: Request | None = None) -> Mapping[str, str]:
        """The same for every request, as long as they last."""
        if self._given:
            return {"Authorization": f"Bearer {self._given}"}
        async with self._making:
            if self._credentials is None or not self._credentials.valid:
                await asyncio.to_thread(self._make)
        named = {"x-goog-user-project": self._credentials.quota_project_id}
        return {
            "Authorization": f"Bearer {self._credentials.token}",
            **{header: value for header, value in named.items() if value},
        }

    def _make(self) -> None:
        from google.auth import exceptions  # noqa: PLC0415 - an extra
        from google.auth.transport.requests import Request  # noqa: PLC0415 - same

        try:
            if self._credentials is None:
                self._credentials = _found(self._file)
            self._credentials.refresh(Request())
        except exceptions.TransportError as error:
            raise Unavailable(f"vertex: no access token: {scrub(str(error))}") from None
        except (exceptions.GoogleAuthError, OSError, ValueError) as error:
            raise Unauthorized(f"vertex: no access token: {scrub(str(error))}") from None


def _found(file: str | None) -> Any:
    """The usual credentials are of any kind that Google has; a file of one's own is a key or a person's login."""
    import google.auth  # noqa: PLC0415 - an extra
    from google.oauth2 import credentials, service_account  # noqa: PLC0415 - same

    if file is None or os.environ.get(USUAL_FILE) == file:
        return google.auth.default(scopes=_SCOPES)[0]
    kind = msgspec.json.decode(Path(file).read_bytes(), type=_File).type
    if kind == "service_account":
        return service_account.Credentials.from_service_account_file(file, scopes=_SCOPES)  # type: ignore[no-untyped-call]
    if kind == "authorized_user":
        return credentials.Credentials.from_authorized_user_file(file, scopes=_SCOPES)  # type: ignore[no-untyped-call]
    raise ValueError(f"{file} holds credentials of type '{kind}'; put its path into {USUAL_FILE}")
