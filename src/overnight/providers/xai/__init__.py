"""xAI: Grok by chat completions, live and in batches that are filled after they are made."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint, Vendor
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.xai.format import XaiFormat, guide

if TYPE_CHECKING:
    from overnight.providers.xai.connection import XaiConnection

__all__ = ["XaiVendor", "provider"]


class XaiVendor:
    """xAI."""

    name = "xai"
    key_variable = "XAI_API_KEY"
    base_url_variable = "XAI_BASE_URL"
    default_base_url = "https://api.x.ai/v1"
    models: tuple[str, ...] = ("grok-*",)
    emulator_path = "/xai/v1"
    format = XaiFormat()

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own = model.key if model is not None else None
        address = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(address or self.default_base_url, f"{self.base_url_variable} or base_url"),
            key=found_key(environ, own or self.key_variable, "xAI"),
        )

    def connect(self, endpoint: Endpoint) -> "XaiConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.xai.connection import XaiConnection  # noqa: PLC0415

        return XaiConnection(endpoint)

    def guide(self) -> str:
        return guide()


provider: Vendor = XaiVendor()


def _checked_url(address: str, where: str) -> str:
    parts = address_parts(address, where, "https://api.x.ai/v1")
    if not parts.path.strip("/") or parts.query or parts.fragment:
        raise StudyError(f"{where}: '{address}' must include the path of the API, as in https://api.x.ai/v1")
    return address.strip().rstrip("/")
