"""The buckets that Vertex reads and writes in: their addresses, and what to say when there are none."""

import msgspec

from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint

INPUT_VARIABLE, OUTPUT_VARIABLE = "VERTEX_INPUT_BUCKET", "VERTEX_OUTPUT_BUCKET"
_NO_BUCKETS = (
    "vertex reads and writes in buckets of yours: write `buckets: {input: gs://..., output: gs://...}` in the study, "
    f"or set {INPUT_VARIABLE} and {OUTPUT_VARIABLE}"
)


def check_buckets(endpoint: Endpoint) -> None:
    """Whoever only looks at a job needs none; whoever sends one does."""
    if endpoint.buckets is None:
        raise StudyError(_NO_BUCKETS)


class Place(msgspec.Struct, frozen=True):
    """A bucket and a name in it."""

    bucket: str
    name: str

    @property
    def uri(self) -> str:
        return f"gs://{self.bucket}/{self.name}"


def place_of(uri: str) -> Place | None:
    """`gs://bucket/name` in its parts; None for anything else."""
    rest = uri.removeprefix("gs://")
    bucket, _, name = rest.partition("/")
    return Place(bucket, name.strip("/")) if rest != uri and bucket else None


def checked_bucket(uri: str, field: str) -> Place:
    place = place_of(uri.strip())
    if place is None:
        raise StudyError(f"{field}: found '{uri}', wanted gs://bucket or gs://bucket/folder")
    return place
