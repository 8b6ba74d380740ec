"""Fireworks: open models by chat completions, live and in batch inference jobs over datasets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint, Vendor
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.fireworks.format import FireworksFormat, guide

if TYPE_CHECKING:
    from overnight.providers.fireworks.connection import FireworksConnection

__all__ = ["FireworksVendor", "provider"]

ACCOUNT_VARIABLE = "FIREWORKS_ACCOUNT_ID"


class FireworksVendor:
    """Fireworks."""

    name = "fireworks"
    key_variable = "FIREWORKS_API_KEY"
    base_url_variable = "FIREWORKS_BASE_URL"
    other_variables = (ACCOUNT_VARIABLE,)
    default_base_url = "https://api.fireworks.ai"
    models: tuple[str, ...] = ("accounts/*",)
    emulator_path = "/fireworks"
    format = FireworksFormat()

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own = model.key if model is not None else None
        address = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(address or self.default_base_url, f"{self.base_url_variable} or base_url"),
            key=found_key(environ, own or self.key_variable, "Fireworks"),
            project=environ.get(ACCOUNT_VARIABLE, "").strip() or None,
        )

    def check_sending(self, endpoint: Endpoint) -> None:
        if not endpoint.project:
            raise StudyError(f"{ACCOUNT_VARIABLE} is not set: batches of Fireworks need the id of your account there")

    def at_emulator(self, endpoint: Endpoint, origin: str, model: Model | None) -> Endpoint:  # noqa: ARG002
        return msgspec.structs.replace(endpoint, project="rehearsal")

    def connect(self, endpoint: Endpoint) -> "FireworksConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.fireworks.connection import FireworksConnection  # noqa: PLC0415

        return FireworksConnection(endpoint)

    def guide(self) -> str:
        return guide()


provider: Vendor = FireworksVendor()


def _checked_url(address: str, where: str) -> str:
    address_parts(address, where, "https://api.fireworks.ai")
    return address.strip().rstrip("/").removesuffix("/v1").removesuffix("/inference")
