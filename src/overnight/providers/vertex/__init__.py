"""Vertex AI: batch prediction jobs over Cloud Storage, with the usual Google credentials, and live calls."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import quote

import msgspec

from overnight.core.ask import Ask, Buckets, Model
from overnight.core.errors import Gone, ProviderError, StudyError
from overnight.core.result import Line
from overnight.providers.contract import (
    Batch,
    CreateAnswer,
    Endpoint,
    Fence,
    Intent,
    Limits,
    Ours,
    ReadyLine,
    Reply,
    Sightings,
    Vendor,
)
from overnight.providers.endpoints import address_parts
from overnight.providers.google_api import body as _google_body
from overnight.providers.google_api import live as _google_live
from overnight.providers.google_api import problems as _google_problems
from overnight.providers.google_api import rows as _google_rows
from overnight.providers.google_api.guide import guide
from overnight.providers.google_api.refusals import create_refusal
from overnight.providers.reading.listing import Page, back_to, first_page, set_back
from overnight.providers.vertex.jobs import LIMITS, job_body, read_job, read_page, since
from overnight.providers.vertex.storage import CloudStorage, Place, checked_bucket, place_of
from overnight.providers.vertex.tokens import USUAL_FILE, Tokens, check_installed
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Timeouts, Wire
from overnight.providers.writing import ByModel

__all__ = ["Vertex", "VertexVendor", "provider"]

_VERSION = "/v1"
_PAGE = "100"
_LOCATION = "us-central1"
_STORAGE = "https://storage.googleapis.com"
# Files of answers, whatever else may lie beside them.
_ANSWERS = "prediction"


class Vertex:
    """Vertex AI in one project and region."""

    name = "vertex"
    tags = True

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self.endpoint = endpoint
        self._forms = ByModel(partial(_google_body.form_of, imported=True))
        self._tokens = Tokens(endpoint.key, endpoint.credentials)
        self._wire = self._wire_to(endpoint.base_url, timeouts)
        self._storage_wire = self._wire_to(endpoint.storage_url or _STORAGE, timeouts)
        self._storage = CloudStorage(self._storage_wire)
        self._live = LiveWire(endpoint.base_url, self._tokens.headers, secret=endpoint.key)
        self._parent = f"{_VERSION}/projects/{endpoint.project}/locations/{endpoint.location or _LOCATION}"

    def _wire_to(self, address: str, timeouts: Timeouts | None) -> Wire:
        return Wire(self.name, address, self._tokens.headers, secret=self.endpoint.key, timeouts=timeouts)

    def limits(self, model: Model) -> Limits:  # noqa: ARG002 - the contract's; here all models are alike
        return LIMITS

    def problems(self, model: Model) -> list[str]:
        return _google_problems.problems(model, imported=True)

    def encode(self, ask: Ask) -> bytes:
        return _google_body.encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:  # noqa: ARG002 - the job names the model
        return _google_body.line("custom_id", custom_id, body)

    def decode(self, line: bytes) -> Line:
        return _google_rows.decode(line)

    def read_line(self, line: bytes) -> ReadyLine:
        return _google_body.read_line(line, self.name, "custom_id")

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return _google_live.live_line("custom_id", custom_id, reply)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        same_file = file_id is not None and batch.input_ref == file_id
        return "yes" if batch.tag == intent.token or same_file else "no"

    async def upload(self, intent: Intent) -> str:
        folder = self._bucket("input")
        place = Place(folder.bucket, "/".join(part for part in (folder.name, f"{intent.token}.jsonl") if part))
        await self._storage.put(intent, place)
        return place.uri

    async def newest(self) -> Sightings:
        return await first_page(lambda cursor: self._page(_PAGE, {}, cursor))

    async def create(self, intent: Intent, file_id: str) -> CreateAnswer:
        path = f"{self._parent}/batchPredictionJobs"
        sending = await self._wire.send_once("create", path, job_body(intent, file_id, self._bucket("output")))
        reply = sending.reply
        if reply is None:
            return CreateAnswer(sent=sending.sent, status=sending.status, problem=sending.problem)
        if not reply.ok:
            return CreateAnswer(
                sent=True,
                status=reply.status,
                refusal=create_refusal(reply, self.endpoint.key),
                problem=self._wire.explain(f"POST {path}", reply),
            )
        try:
            return CreateAnswer(sent=True, status=reply.status, batch=read_job(reply.body))
        except ProviderError as error:
            return CreateAnswer(sent=True, status=reply.status, problem=str(error))

    async def recent(self, fence: Fence, pages: int) -> Sightings:
        """To the end of what is new: the order of the listing is not promised, but its filter is."""
        seen = await self._all(since(fence), pages)
        return await self._all({}, pages) if set_back(fence, seen.date) else seen

    async def _all(self, wanted: Mapping[str, str], pages: int) -> Sightings:
        return await back_to(Fence(None), pages, lambda cursor: self._page(_PAGE, wanted, cursor))

    async def _page(self, size: str, wanted: Mapping[str, str], token: str | None = None) -> Page:
        query = {"pageSize": size, **wanted} | ({} if token is None else {"pageToken": token})
        reply = await self._wire.ask("list", "GET", f"{self._parent}/batchPredictionJobs", query=query)
        return read_page(reply.body, reply.date)

    async def retrieve(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("retrieve", "GET", self._job_path(batch_id), also=(404,))
        return read_job(reply.body) if reply.ok else None

    async def fetch(self, ref: str, sink: Callable[[bytes], None]) -> int | None:
        """A file, or every file of answers in a job's folder, one after the other."""
        place = place_of(ref)
        if place is None:
            raise Gone(f"vertex keeps no {ref}: results lie in a bucket")
        found = await self._storage.below(place)
        entries = [one for one in found if one.name == place.name or _is_answers(one.name)]
        if not entries:
            raise Gone(f"{ref} holds no answers any more")
        return sum([await self._storage.read(place.bucket, entry, sink) for entry in entries])

    async def cancel(self, batch_id: str) -> Batch | None:
        reply = await self._wire.ask("cancel", "POST", f"{self._job_path(batch_id)}:cancel", also=(400, 404, 409))
        # The answer is empty, and a job that has ended meanwhile cannot be cancelled: what it has become counts.
        return None if reply.status == 404 else await self.retrieve(batch_id)

    async def remove_file(self, file_id: str) -> None:
        place = place_of(file_id)
        if place is not None:
            await self._storage.remove(place)

    async def knows_file(self, file_id: str) -> bool:
        place = place_of(file_id)
        return place is not None and await self._storage.knows(place)

    async def call(self, model: Model, body: bytes) -> Reply:
        path = f"{self._parent}/publishers/google/models/{quote(model.name, safe='')}:generateContent"
        return await _google_live.call(self._live, path, body)

    async def check_key(self) -> str:
        await self._page("1", {})
        return f"vertex accepts the credentials for the project {self.endpoint.project} at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()
        await self._storage_wire.close()
        await self._live.close()

    def _bucket(self, which: str) -> Place:
        check_buckets(self.endpoint)
        return checked_bucket(getattr(self.endpoint.buckets, which), f"buckets.{which}")

    def _job_path(self, batch_id: str) -> str:
        """A full name is of whatever project and region it says."""
        if batch_id.startswith("projects/"):
            return f"{_VERSION}/{quote(batch_id, safe='/')}"
        return f"{self._parent}/batchPredictionJobs/{quote(batch_id, safe='')}"


INPUT_VARIABLE, OUTPUT_VARIABLE = "VERTEX_INPUT_BUCKET", "VERTEX_OUTPUT_BUCKET"
_NO_BUCKETS = (
    "vertex reads and writes in buckets of yours: write `buckets: {input: gs://..., output: gs://...}` in the study, "
    f"or set {INPUT_VARIABLE} and {OUTPUT_VARIABLE}"
)


def check_buckets(endpoint: Endpoint) -> None:
    """Whoever only looks at a job needs none; whoever sends one does."""
    if endpoint.buckets is None:
        raise StudyError(_NO_BUCKETS)


class VertexVendor:
    """Vertex AI, before it is given an endpoint."""

    name = "vertex"
    key_variable = USUAL_FILE
    base_url_variable = "GOOGLE_VERTEX_BASE_URL"
    default_base_url = "https://REGION-aiplatform.googleapis.com"
    # Gemini models are the Gemini API's as well: a bare name says which of the two only where buckets are given.
    models: tuple[str, ...] = ()
    emulator_path = "/vertex"
    bucket_scheme = "gs://"
    own_hosts = re.compile(r"(?:[a-z0-9-]+-)?aiplatform(?:\.(?:us|eu)\.rep)?\.googleapis\.com")

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        """With an emulated store nobody proves who they are, as with Google's own clients."""
        emulated = environ.get("STORAGE_EMULATOR_HOST", "").strip()
        credentials = _credentials_file(environ, model, self.key_variable)
        if not emulated:
            check_installed()
        location = environ.get("GOOGLE_CLOUD_LOCATION", "").strip() or _LOCATION
        base_url = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        return Endpoint(
            base_url=_checked_url(base_url or _regional(location), f"{self.base_url_variable} or base_url"),
            key="anonymous" if emulated else "",
            project=_project(environ, credentials),
            location=location,
            credentials=credentials,
            storage_url=_checked_url(emulated, "STORAGE_EMULATOR_HOST") if emulated else _STORAGE,
            buckets=_buckets(environ, model),
        )

    def at_emulator(self, endpoint: Endpoint, origin: str, model: Model | None) -> Endpoint:
        """A rehearsal needs no project and no buckets of its own; those of the study are used by their names."""
        buckets = model.buckets if model is not None else None
        return msgspec.structs.replace(
            endpoint,
            project="rehearsal",
            location=_LOCATION,
            storage_url=origin,
            buckets=buckets or Buckets(input="gs://rehearsal/in", output="gs://rehearsal/out"),
        )

    def check_sending(self, endpoint: Endpoint) -> None:
        check_buckets(endpoint)

    def connect(self, endpoint: Endpoint) -> Vertex:
        return Vertex(endpoint)

    def guide(self) -> str:
        return guide(self, LIMITS)


provider: Vendor = VertexVendor()


def _is_answers(name: str) -> bool:
    return name.rsplit("/", 1)[-1].startswith(_ANSWERS)


def _regional(location: str) -> str:
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{quote(location, safe='')}-aiplatform.googleapis.com"


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


def _buckets(environ: Mapping[str, str], model: Model | None) -> Buckets | None:
    if model is not None and model.buckets is not None:
        return model.buckets
    given = (environ.get(INPUT_VARIABLE, "").strip(), environ.get(OUTPUT_VARIABLE, "").strip())
    if not any(given):
        return None
    for uri, variable in zip(given, (INPUT_VARIABLE, OUTPUT_VARIABLE), strict=True):
        checked_bucket(uri, variable)
    return Buckets(input=given[0], output=given[1])


def _checked_url(address: str, where: str) -> str:
    address_parts(address, where, "https://host")
    return address.strip().rstrip("/")
