"""Anthropic: messages, in Message Batches or live. Nothing is uploaded, and a batch carries no tag."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.anthropic.families import rules
from overnight.providers.anthropic.format import AnthropicFormat
from overnight.providers.anthropic.guide import guide
from overnight.providers.contract import Endpoint, ModelRules, Vendor
from overnight.providers.endpoints import address_parts, found_key

if TYPE_CHECKING:
    from overnight.providers.anthropic.connection import AnthropicConnection

__all__ = ["AnthropicVendor", "provider"]


class AnthropicVendor:
    """Anthropic."""

    name = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    base_url_variable = "ANTHROPIC_BASE_URL"
    default_base_url = "https://api.anthropic.com"
    models: tuple[str, ...] = ("claude-*",)
    emulator_path = "/anthropic"
    format = AnthropicFormat()

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own_key = model is not None and model.key is not None
        variable = model.key if model is not None and model.key is not None else self.key_variable
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or self.default_base_url, self.base_url_variable),
            key=found_key(environ, variable, "Anthropic"),
            # The usual workspace is that of the usual key.
            project=None if own_key else environ.get("ANTHROPIC_WORKSPACE_ID") or None,
        )

    def connect(self, endpoint: Endpoint) -> "AnthropicConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.anthropic.connection import AnthropicConnection  # noqa: PLC0415

        return AnthropicConnection(endpoint)

    def rules(self, name: str) -> ModelRules | None:
        return rules(name)

    def guide(self) -> str:
        return guide(self)


provider: Vendor = AnthropicVendor()


def _checked_url(address: str, variable: str) -> str:
    where = f"{variable} or base_url"
    parts = address_parts(address, where, "https://host")
    plain = address.strip().rstrip("/")
    if parts.query or parts.fragment or plain.endswith("/v1"):
        raise StudyError(f"{where}: '{address}'; wanted the address without /v1, as in https://{parts.hostname}")
    return plain
