"""Signatures of AWS: botocore makes them, and our own wire sends them.

botocore is an extra: it is imported when something is first signed, and not before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import Any, Literal

from overnight.core.errors import Unauthorized, Unavailable
from overnight.providers.contract import Endpoint
from overnight.providers.reading.complaints import scrub
from overnight.providers.wire.signing import Request
from overnight.store.contract import StoredFile

Service = Literal["bedrock", "s3"]
# A key is given for an emulator only, which takes any secret.
_EMULATED = "emulated"


class Signatures:
    """Headers that prove who asks, for one request each."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._key = endpoint.key
        self._profile = endpoint.credentials
        self._region = endpoint.location or ""
        self._credentials: Any = None
        self._finding = asyncio.Lock()

    def of(self, service: Service) -> Callable[[Request], Awaitable[Mapping[str, str]]]:
        async def sign(request: Request) -> Mapping[str, str]:
            async with self._finding:
                if self._credentials is None:
                    self._credentials = await asyncio.to_thread(self._found)
            return await asyncio.to_thread(self._signed, request, service)

        return sign

    def _found(self) -> Any:
        from botocore.credentials import Credentials  # noqa: PLC0415 - an extra
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - same
        from botocore.session import Session  # noqa: PLC0415 - same

        if self._key:
            return Credentials(self._key, _EMULATED)
        try:
            found = Session(profile=self._profile).get_credentials()
        except BotoCoreError as error:
            raise Unauthorized(f"bedrock: no credentials: {scrub(str(error))}") from None
        if found is None:
            raise Unauthorized(
                "bedrock: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE "
                "(`--emulate` rehearses without any)"
            )
        return found

    def _signed(self, request: Request, service: Service) -> Mapping[str, str]:
        from botocore.auth import S3SigV4Auth, SigV4Auth  # noqa: PLC0415 - an extra
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - same
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - same

        with ExitStack() as stack:
            body = request.body
            data = stack.enter_context(body.open()) if isinstance(body, StoredFile) else body
            made = AWSRequest(method=request.method, url=request.url, headers=dict(request.headers), data=data)
            try:
                frozen = self._credentials.get_frozen_credentials()
                signer = S3SigV4Auth if service == "s3" else SigV4Auth
                signer(frozen, service, self._region).add_auth(made)
            except BotoCoreError as error:
                raise Unavailable(f"bedrock: nothing can be signed: {scrub(str(error))}") from None
        given = {name.lower() for name in request.headers}
        return {name: value for name, value in made.headers.items() if name.lower() not in given}
