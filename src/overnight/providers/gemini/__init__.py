"""The Gemini API: batches of `generateContent` through files, and live calls."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint, ModelRules, Vendor
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.gemini.batches import LIMITS
from overnight.providers.gemini.format import FORMAT
from overnight.providers.google_api.families import rules
from overnight.providers.google_api.guide import guide

if TYPE_CHECKING:
    from overnight.providers.gemini.connection import GeminiConnection

__all__ = ["GeminiVendor", "provider"]


class GeminiVendor:
    """The Gemini API."""

    name = "gemini"
    key_variable = "GEMINI_API_KEY"
    # Google's own clients take this one first.
    other_key_variables = ("GOOGLE_API_KEY",)
    base_url_variable = "GOOGLE_GEMINI_BASE_URL"
    default_base_url = "https://generativelanguage.googleapis.com"
    models: tuple[str, ...] = ("gemini-*", "gemma-*")
    emulator_path = "/gemini"
    format = FORMAT
    answers_in_order = True

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own = model.key if model is not None else None
        names = (*self.other_key_variables, self.key_variable)
        usual = next((name for name in names if environ.get(name, "").strip()), self.key_variable)
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or self.default_base_url, self.base_url_variable),
            key=found_key(environ, own or usual, "Gemini"),
        )

    def connect(self, endpoint: Endpoint) -> "GeminiConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.gemini.connection import GeminiConnection  # noqa: PLC0415

        return GeminiConnection(endpoint)

    def rules(self, name: str) -> ModelRules | None:
        return rules(name)

    def guide(self) -> str:
        return guide(self, LIMITS)


provider: Vendor = GeminiVendor()


def _checked_url(address: str, variable: str) -> str:
    parts = address_parts(address, f"{variable} or base_url", "https://host")
    if parts.query or parts.fragment or parts.path.rstrip("/").endswith(("/v1", "/v1beta", "/v1alpha")):
        raise StudyError(
            f"{variable} or base_url: '{address}' must not include a version; leave off what follows the host"
        )
    return address.strip().rstrip("/")
