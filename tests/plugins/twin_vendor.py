"""A second vendor, as another package would bring one: it speaks OpenAI's format at an address of its own."""

from __future__ import annotations

from collections.abc import Mapping

from overnight.core.ask import Model
from overnight.core.errors import Unauthorized
from overnight.providers import Endpoint
from overnight.providers.openai import OpenAI


class Twin(OpenAI):
    name = "twin"


class TwinVendor:
    name = "twin"
    key_variable = "TWIN_API_KEY"
    base_url_variable = "TWIN_BASE_URL"
    default_base_url = "http://127.0.0.1:9/v1"
    models: tuple[str, ...] = ("twin-*",)
    emulator_path = "/openai/v1"

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        key = environ.get(self.key_variable)
        if not key:
            raise Unauthorized(f"{self.key_variable} is not set")
        return Endpoint(base_url=environ.get(self.base_url_variable, self.default_base_url), key=key)

    def connect(self, endpoint: Endpoint) -> Twin:
        return Twin(endpoint)


provider = TwinVendor()
