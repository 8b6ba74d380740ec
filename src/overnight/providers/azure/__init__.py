"""Azure OpenAI: deployments of OpenAI's models, in global batches through files, or live."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.azure.format import FORMAT, guide
from overnight.providers.azure.sign_in import TOKEN, USUAL, check_installed
from overnight.providers.contract import Endpoint, Vendor
from overnight.providers.endpoints import address_parts, found_key

if TYPE_CHECKING:
    from overnight.providers.openai_api.connection import FileBatchConnection

__all__ = ["AzureVendor", "provider"]

_TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105 - the name of a variable
VERSION_VARIABLE = "OPENAI_API_VERSION"


class AzureVendor:
    """Azure OpenAI."""

    name = "azure"
    key_variable = "AZURE_OPENAI_API_KEY"
    other_key_variables = (_TOKEN_VARIABLE,)
    base_url_variable = "AZURE_OPENAI_ENDPOINT"
    other_variables = (VERSION_VARIABLE,)
    default_base_url = "https://RESOURCE.openai.azure.com"
    # A deployment has any name.
    models: tuple[str, ...] = ()
    emulator_path = "/azure"
    format = FORMAT
    # Every customer has one of its own there: which is the user's, only the user can say.
    own_hosts = re.compile(r"(?!)")

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        """A key, else a token that was given, else whoever is signed in."""
        address = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        own = model.key if model is not None else None
        key, credentials = self._sign_in(environ, own)
        return Endpoint(
            base_url=_checked_url(address or "", f"{self.base_url_variable} or base_url"),
            key=key,
            credentials=credentials,
            location=environ.get(VERSION_VARIABLE, "").strip() or None,
        )

    def _sign_in(self, environ: Mapping[str, str], own: str | None) -> tuple[str, str | None]:
        if own is not None or environ.get(self.key_variable, "").strip():
            return found_key(environ, own or self.key_variable, "Azure OpenAI"), None
        if environ.get(_TOKEN_VARIABLE, "").strip():
            return found_key(environ, _TOKEN_VARIABLE, "Azure OpenAI"), TOKEN
        check_installed(self.key_variable)
        return "", USUAL

    def connect(self, endpoint: Endpoint) -> "FileBatchConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.azure.connection import connect  # noqa: PLC0415

        return connect(endpoint)

    def guide(self) -> str:
        return guide()


provider: Vendor = AzureVendor()


def _checked_url(address: str, where: str) -> str:
    wanted = "https://RESOURCE.openai.azure.com"
    if not address.strip():
        raise StudyError(f"{where}: azure needs the address of your resource, such as {wanted}")
    parts = address_parts(address, where, wanted)
    path = parts.path.rstrip("/").removesuffix("/v1").removesuffix("/openai")
    if parts.query or parts.fragment:
        raise StudyError(f"{where}: '{address}' has more than an address; wanted {wanted}, and {VERSION_VARIABLE}")
    return f"{parts.scheme}://{parts.netloc}{path}"
