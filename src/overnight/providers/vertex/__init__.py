"""Vertex AI: batch prediction jobs over Cloud Storage, with the usual Google credentials, and live calls."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overnight.core.ask import Buckets, Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint, ModelRules, Vendor
from overnight.providers.endpoints import address_parts, checked_region
from overnight.providers.google_api.families import rules
from overnight.providers.google_api.guide import guide
from overnight.providers.vertex.format import FORMAT
from overnight.providers.vertex.jobs import BUCKETS, LIMITS, LOCATION, STORAGE
from overnight.providers.vertex.sign_in import USUAL_FILE, check_installed

if TYPE_CHECKING:
    from overnight.providers.vertex.connection import VertexConnection

__all__ = ["VertexVendor", "provider"]


class VertexVendor:
    """Vertex AI."""

    name = "vertex"
    key_variable = USUAL_FILE
    base_url_variable = "GOOGLE_VERTEX_BASE_URL"
    default_base_url = "https://REGION-aiplatform.googleapis.com"
    # Gemini models are the Gemini API's as well: a bare name says which of the two only where buckets are given.
    models: tuple[str, ...] = ()
    emulator_path = "/vertex"
    format = FORMAT
    bucket_scheme = "gs://"
    bucket_variables = BUCKETS.variables
    other_variables = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
    own_hosts = re.compile(r"(?:[a-z0-9-]+-)?aiplatform(?:\.(?:us|eu)\.rep)?\.googleapis\.com")

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        """With an emulated store nobody proves who they are, as with Google's own clients."""
        emulated = environ.get("STORAGE_EMULATOR_HOST", "").strip()
        credentials = _credentials_file(environ, model, self.key_variable)
        if not emulated:
            check_installed()
        location = environ.get("GOOGLE_CLOUD_LOCATION", "").strip() or LOCATION
        checked_region(location, "GOOGLE_CLOUD_LOCATION")
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or _regional(location), f"{self.base_url_variable} or base_url"),
            key="anonymous" if emulated else "",
            project=_project(environ, credentials),
            location=location,
            credentials=credentials,
            storage_url=_checked_url(emulated, "STORAGE_EMULATOR_HOST") if emulated else STORAGE,
            buckets=BUCKETS.given(environ, model),
        )

    def at_emulator(self, endpoint: Endpoint, origin: str, model: Model | None) -> Endpoint:
        """A rehearsal needs no project and no buckets of its own; those of the study are used by their names."""
        buckets = model.buckets if model is not None else None
        return msgspec.structs.replace(
            endpoint,
            project="rehearsal",
            location=LOCATION,
            storage_url=origin,
            buckets=buckets or Buckets(input="gs://rehearsal/in", output="gs://rehearsal/out"),
        )

    def check_sending(self, endpoint: Endpoint) -> None:
        BUCKETS.check(endpoint)

    def connect(self, endpoint: Endpoint) -> "VertexConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.vertex.connection import VertexConnection  # noqa: PLC0415

        return VertexConnection(endpoint)

    def rules(self, name: str) -> ModelRules | None:
        return rules(name)

    def guide(self) -> str:
        return guide(self, LIMITS)


provider: Vendor = VertexVendor()


def _regional(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _credentials_file(environ: Mapping[str, str], model: Model | None, usual: str) -> str | None:
    own = model.key if model is not None else None
    path = environ.get(own or usual, "").strip()
    if own is not None and not path:
        raise StudyError(f"{own} is not set: put the path of a Google credentials file there")
    return path or None


def _project(environ: Mapping[str, str], credentials: str | None) -> str:
    """Named by the usual variable, else by the credentials themselves."""
    named = environ.get("GOOGLE_CLOUD_PROJECT", "").strip()
    if named:
        return named
    try:
        kept = msgspec.json.decode(Path(credentials).read_bytes(), type=dict[str, object]) if credentials else {}
    except (OSError, msgspec.MsgspecError):
        kept = {}
    project = kept.get("project_id") or kept.get("quota_project_id")
    if not isinstance(project, str) or not project:
        raise StudyError("GOOGLE_CLOUD_PROJECT is not set: put the id of the Google Cloud project there")
    return project


def _checked_url(address: str, where: str) -> str:
    address_parts(address, where, "https://host")
    return address.strip().rstrip("/")
