"""OpenAI: chat completions and responses, in batches through files, or live."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint, ModelRules, Vendor
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.openai.families import notices, rules
from overnight.providers.openai.format import OpenAIFormat
from overnight.providers.openai.guide import guide

if TYPE_CHECKING:
    from overnight.providers.openai_api.connection import FileBatchConnection

__all__ = ["OpenAIVendor", "provider"]


class OpenAIVendor:
    """OpenAI."""

    name = "openai"
    key_variable = "OPENAI_API_KEY"
    base_url_variable = "OPENAI_BASE_URL"
    other_variables = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
    default_base_url = "https://api.openai.com/v1"
    # gpt-oss are open weights that others serve.
    models: tuple[str, ...] = (
        *("gpt-*", "!gpt-oss*", "chatgpt-*", "o[1-9]", "o[1-9]-*"),
        *("codex-*", "computer-use-*", "ft:gpt-*"),
    )
    emulator_path = "/openai/v1"
    format = OpenAIFormat()

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own_key = model is not None and model.key is not None
        variable = model.key if model is not None and model.key is not None else self.key_variable
        key = found_key(environ, variable, "OpenAI")
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or self.default_base_url, self.base_url_variable),
            key=key,
            # The usual organisation is that of the usual key; a key of another account brings its own.
            organization=None if own_key else environ.get("OPENAI_ORG_ID") or None,
            project=None if own_key else environ.get("OPENAI_PROJECT_ID") or None,
        )

    def connect(self, endpoint: Endpoint) -> "FileBatchConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.openai.connection import connect  # noqa: PLC0415

        return connect(endpoint)

    def rules(self, name: str) -> ModelRules | None:
        return rules(name)

    def notices(self, model: Model, today: date | None = None) -> list[str]:
        return notices(model, today)

    def guide(self) -> str:
        return guide(self)


provider: Vendor = OpenAIVendor()


def _checked_url(address: str, variable: str) -> str:
    where = f"{variable} or base_url"
    parts = address_parts(address, where, "https://host/v1")
    if not parts.path.strip("/") or parts.query or parts.fragment:
        # Gateways have paths of their own, but none does without one.
        raise StudyError(f"{where}: '{address}' must include the path of the API, as in https://{parts.hostname}/v1")
    return address.strip().rstrip("/")
