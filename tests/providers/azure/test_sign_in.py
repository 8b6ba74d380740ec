"""Who is asked, and who asks: addresses, versions, a key, a token, and whoever is signed in."""

from __future__ import annotations

import asyncio
import sys
import time
import types
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from overnight.core.ask import Model
from overnight.core.errors import StudyError, Unauthorized
from overnight.providers import vendor
from overnight.providers.azure.connection import connect
from overnight.providers.azure.connection.tokens import SignIn
from providers.asking import KEY, ask
from providers.scripted_server import serving

AZURE = vendor("azure")
HOST = "https://lab.openai.azure.com"
MODEL = Model(provider="azure", name="my deployment")


@pytest.mark.parametrize("address", [HOST, f"{HOST}/", f"{HOST}/openai", f"{HOST}/openai/v1/"])
def test_the_address_is_that_of_the_resource(address: str) -> None:
    environ = {"AZURE_OPENAI_ENDPOINT": address, "AZURE_OPENAI_API_KEY": KEY}
    assert AZURE.endpoint(environ, None).base_url == HOST


def test_without_an_address_one_is_asked_for() -> None:
    with pytest.raises(StudyError, match="azure needs the address of your resource"):
        AZURE.endpoint({"AZURE_OPENAI_API_KEY": KEY}, None)


@pytest.mark.parametrize(
    ("variables", "header"),
    [
        ({"AZURE_OPENAI_API_KEY": KEY}, ("api-key", KEY)),
        ({"AZURE_OPENAI_AD_TOKEN": KEY}, ("Authorization", f"Bearer {KEY}")),
        ({"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_AD_TOKEN": "other-0123456789"}, ("api-key", KEY)),
    ],
)
@pytest.mark.parametrize("version", ["", "2025-04-01-preview"])
def test_calls_go_with_the_sign_in_to_the_right_path(
    variables: dict[str, str], header: tuple[str, str], version: str
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response({"data": []})

    async def outer() -> list[web.Request]:
        async with serving(answer) as server:
            environ = {"AZURE_OPENAI_ENDPOINT": server.url, "OPENAI_API_VERSION": version, **variables}
            connection = connect(AZURE.endpoint(environ, None))
            await connection.call(MODEL, AZURE.format.encode(ask(MODEL, "Hello?")))
            await connection.check_key()
            await connection.close()
            return server.seen

    call, listing = asyncio.run(outer())
    dated = "/openai/deployments/my%20deployment/chat/completions?api-version=2025-04-01-preview"
    assert str(call.rel_url) == (dated if version else "/openai/v1/chat/completions")
    assert str(listing.rel_url) == (f"/openai/models?api-version={version}" if version else "/openai/v1/models")
    assert {one.headers.get(header[0]) for one in (call, listing)} == {header[1]}


class _Token(NamedTuple):
    token: str
    expires_on: float


def signing_in(monkeypatch: pytest.MonkeyPatch, tokens: list[_Token], error: Exception | None = None) -> None:
    """Microsoft's library, as far as it is used, with tokens of our own."""
    import azure.identity

    class Credential:
        def get_token(self, scope: str) -> _Token:
            assert scope == "https://cognitiveservices.azure.com/.default"
            if error is not None:
                raise error
            return tokens.pop(0)

    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", Credential)


def test_a_token_is_kept_until_it_is_about_to_lapse(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    signing_in(monkeypatch, [_Token("first", now + 200), _Token("second", now + 3600)])
    sign_in = SignIn()

    async def three() -> list[Any]:
        return [(await sign_in.headers())["Authorization"] for _ in range(3)]

    assert asyncio.run(three()) == ["Bearer first", "Bearer second", "Bearer second"]


def test_nobody_is_signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    from azure.identity import CredentialUnavailableError

    signing_in(monkeypatch, [], CredentialUnavailableError(message="Run az login.\nMore."))
    with pytest.raises(Unauthorized, match=r"azure: nobody is signed in: Run az login\.$"):
        asyncio.run(SignIn().headers())


def test_without_key_and_library_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure", types.ModuleType("azure"))
    monkeypatch.delitem(sys.modules, "azure.identity", raising=False)
    with pytest.raises(Unauthorized, match=r"AZURE_OPENAI_API_KEY is not set.*overnight\[azure\]"):
        AZURE.endpoint({"AZURE_OPENAI_ENDPOINT": HOST}, None)
