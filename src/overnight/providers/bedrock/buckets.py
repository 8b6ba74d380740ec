"""The buckets that Bedrock reads and writes in: their addresses, and what to say when there are none."""

import msgspec

from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint

INPUT_VARIABLE, OUTPUT_VARIABLE = "BEDROCK_INPUT_BUCKET", "BEDROCK_OUTPUT_BUCKET"
_NO_BUCKETS = (
    "bedrock reads and writes in buckets of yours: write `buckets: {input: s3://..., output: s3://...}` in the study, "
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
        return f"s3://{self.bucket}/{self.name}"

    def below(self, *parts: str) -> "Place":
        return Place(self.bucket, "/".join(part for part in (self.name, *parts) if part))


def place_of(uri: str) -> Place | None:
    """`s3://bucket/name` in its parts; None for anything else."""
    rest = uri.removeprefix("s3://")
    bucket, _, name = rest.partition("/")
    return Place(bucket, name.strip("/")) if rest != uri and bucket else None


def checked_bucket(uri: str, field: str) -> Place:
    place = place_of(uri.strip())
    if place is None:
        raise StudyError(f"{field}: found '{uri}', wanted s3://bucket or s3://bucket/folder")
    return place
