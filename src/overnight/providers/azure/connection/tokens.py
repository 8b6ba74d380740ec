"""How Azure is told who asks: by a key, by a token, or by a token that whoever is signed in gets anew each hour.

azure-identity is an extra: it is imported when a token is first wanted, and not before.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from overnight.core.errors import StudyError, Unauthorized, Unavailable
from overnight.providers.azure.sign_in import INSTALL, TOKEN, USUAL
from overnight.providers.contract import Endpoint
from overnight.providers.reading.complaints import scrub
from overnight.providers.wire.signing import KeyHeaders, Request

_SCOPE = "https://cognitiveservices.azure.com/.default"
_SPARE_SECONDS = 300


def key_headers(endpoint: Endpoint) -> KeyHeaders:
    if endpoint.credentials == USUAL:
        return SignIn().headers
    if endpoint.credentials == TOKEN:
        return {"Authorization": f"Bearer {endpoint.key}"}
    return {"api-key": endpoint.key}


class SignIn:
    """Whoever is signed in: az login, a managed identity, a workload's identity, variables of the environment."""

    def __init__(self) -> None:
        self._credential: Any = None
        self._token: Any = None
        self._making = asyncio.Lock()

    async def headers(self, _: Request | None = None) -> Mapping[str, str]:
        async with self._making:
            if self._token is None or self._token.expires_on - time.time() < _SPARE_SECONDS:
                await asyncio.to_thread(self._make)
        return {"Authorization": f"Bearer {self._token.token}"}

    def _make(self) -> None:
        from azure.core.exceptions import AzureError, ClientAuthenticationError  # noqa: PLC0415 - an extra
        from azure.identity import CredentialUnavailableError, DefaultAzureCredential  # noqa: PLC0415 - same

        try:
            if self._credential is None:
                self._credential = DefaultAzureCredential()
            self._token = self._credential.get_token(_SCOPE)
        except (CredentialUnavailableError, ClientAuthenticationError) as error:
            raise Unauthorized(f"azure: nobody is signed in: {scrub(_first_line(error))}") from None
        except AzureError as error:
            raise Unavailable(f"azure: no access token: {scrub(_first_line(error))}") from None
        except ImportError as error:
            raise StudyError(f"azure: signing in needs one more package: {INSTALL} ({error})") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
