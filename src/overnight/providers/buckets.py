"""Buckets of the user's own that a provider works in: their addresses, and what to say when there are none."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from overnight.core.ask import Buckets, Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint


class Place(msgspec.Struct, frozen=True):
    """A bucket and a name in it."""

    scheme: str
    bucket: str
    name: str

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.name}"

    def below(self, *parts: str) -> "Place":
        return Place(self.scheme, self.bucket, "/".join(part for part in (self.name, *parts) if part))

    def beside(self, name: str) -> "Place":
        """Another name in the same bucket."""
        return Place(self.scheme, self.bucket, name)


class OwnBuckets(msgspec.Struct, frozen=True, kw_only=True):
    """How one provider's buckets are called, and where a user says which they are."""

    provider: str
    scheme: str

    @property
    def variables(self) -> tuple[str, str]:
        return f"{self.provider.upper()}_INPUT_BUCKET", f"{self.provider.upper()}_OUTPUT_BUCKET"

    def given(self, environ: Mapping[str, str], model: Model | None) -> Buckets | None:
        """Those of the study, or else of the environment."""
        if model is not None and model.buckets is not None:
            return model.buckets
        given = [environ.get(variable, "").strip() for variable in self.variables]
        if not any(given):
            return None
        for uri, variable in zip(given, self.variables, strict=True):
            self.checked(uri, variable)
        return Buckets(input=given[0], output=given[1])

    def check(self, endpoint: Endpoint) -> None:
        """Whoever only looks at a job needs none; whoever sends one does."""
        if endpoint.buckets is not None:
            return
        written = f"`buckets: {{input: {self.scheme}://..., output: {self.scheme}://...}}` in the study"
        variables = " and ".join(self.variables)
        raise StudyError(f"{self.provider} reads and writes in buckets of yours: write {written}, or set {variables}")

    def of(self, endpoint: Endpoint, which: Literal["input", "output"]) -> Place:
        self.check(endpoint)
        return self.checked(getattr(endpoint.buckets, which), f"buckets.{which}")

    def place_of(self, uri: str) -> Place | None:
        """`gs://bucket/name` in its parts; None for anything else."""
        rest = uri.removeprefix(f"{self.scheme}://")
        bucket, _, name = rest.partition("/")
        return Place(self.scheme, bucket, name.strip("/")) if rest != uri and bucket else None

    def checked(self, uri: str, field: str) -> Place:
        place = self.place_of(uri.strip())
        if place is None:
            wanted = f"{self.scheme}://bucket or {self.scheme}://bucket/folder"
            raise StudyError(f"{field}: found '{uri}', wanted {wanted}")
        return place
