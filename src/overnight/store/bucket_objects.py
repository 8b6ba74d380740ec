"""Objects of a bucket, by key: put on conditions, read, listed, deleted. The one place that knows the library.

Requests that fail in passing (503, a dropped connection) are repeated by the library with growing pauses. What fails
for longer is one clear line (OutOfReach), and never "is missing": whoever reads that may ask and pay again.

A put whose answer is lost may have come in. So it is looked at: what is there now is ours if it has our bytes, and
somebody else's if it has others, which is refused.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from enum import Enum
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from overnight.core.errors import LedgerError, OutOfReach, StudyError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

INSTALL = "pip install 'overnight[bucket]'"
SCHEMES = ("s3", "gs")
# Seconds for which one request is repeated while the bucket does not do it.
PATIENCE = 180.0
# S3 and Cloud Storage take keys of so many bytes.
_LONGEST_KEY = 1024
_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
}
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")


class Found(NamedTuple):
    """An object as it is now: how long, which of all that ever bore the key, and what was noted with it."""

    size: int
    version: Mapping[str, str]
    notes: Mapping[str, str]


class _Anything(Enum):
    ANYTHING = "anything"


ANYTHING = _Anything.ANYTHING
# What has to be under a key for a put to replace it: this object, nothing, or whatever there is.
Expected = Found | None | Literal[_Anything.ANYTHING]


class Objects:
    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        self.home = url
        self._scheme, self._bucket, prefix = _parts(url)
        self._store = _connected(self._scheme, self._bucket, prefix, patience)
        self._prefix_bytes = len(prefix.encode()) + 1
        # A 404 says that an object is missing once it is known that the bucket is not.
        self._answered = False

    def look(self, key: str) -> Found | None:
        import obstore  # noqa: PLC0415 - an extra

        try:
            found = obstore.get(self._store, self._checked(key), options={"head": True})
        except FileNotFoundError:
            self._refuse_missing_bucket()
            return None
        except _failures() as error:
            raise self._trouble(key, "cannot read", error) from None
        self._answered = True
        return Found(found.meta["size"], _version(found.meta), dict(found.attributes))

    def read(self, key: str, start: int, length: int) -> bytes:
        """FileNotFoundError where there is no such object; as many bytes as there are."""
        import obstore  # noqa: PLC0415 - an extra

        if length <= 0:
            return b""
        try:
            return bytes(obstore.get_range(self._store, self._checked(key), start=start, length=length))
        except FileNotFoundError:
            self._refuse_missing_bucket()
            raise
        except _failures() as error:
            if _status(error) == 416:
                return b""
            raise self._trouble(key, "cannot read", error) from None

    def create(self, key: str, data: bytes) -> bool:
        """Whether it was put; False where something is there already, which stays."""
        return self._put(key, data, "create", {}) is not None

    def put(self, key: str, data: bytes, expected: Expected, notes: Mapping[str, str] | None = None) -> Found:
        """Durable when this returns; LedgerError where something else than what was expected is there."""
        mode = "create" if expected is None else "overwrite" if expected is ANYTHING else dict(expected.version)
        try:
            put = self._put(key, data, mode, notes or {})
        except OutOfReach:
            put = self._there(key, data)  # whether it came in is unknown
            if put is None:
                raise
        if put is None:
            put = self._there(key, data)
        if put is None:
            what = "somebody else has put a file there meanwhile, and it is not written over"
            raise LedgerError(f"{self.home}/{key}: {what}; is another process at work on this run?")
        return put

    def _put(self, key: str, data: bytes, mode: Any, notes: Mapping[str, str]) -> Found | None:
        """None where the bucket's answer is that something else is there."""
        import obstore  # noqa: PLC0415 - an extra
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415 - same

        try:
            put = obstore.put(
                self._store, self._checked(key), data, mode=mode, attributes=dict(notes), use_multipart=False
            )
        except (AlreadyExistsError, PreconditionError):
            return None
        except FileNotFoundError:  # what was to be replaced, or the bucket
            self._refuse_missing_bucket()
            return None
        except _failures() as error:
            raise self._trouble(key, "cannot write", error) from None
        self._answered = True
        return Found(len(data), _version(put), notes)

    def _there(self, key: str, data: bytes) -> Found | None:
        """What is under the key, if it has these bytes."""
        found = self.look(key)
        if found is None or found.size != len(data):
            return None
        try:
            return found if self.read(key, 0, len(data)) == data else None
        except FileNotFoundError:
            return None

    def listed(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Keys below a prefix, with sizes; a listing may be late, and in any order."""
        import obstore  # noqa: PLC0415 - an extra

        try:
            for page in obstore.list(self._store, self._checked(prefix), chunk_size=1000):
                self._answered = True
                yield from ((entry["path"], entry["size"]) for entry in page)
        except _failures() as error:
            raise self._trouble(prefix, "cannot list", error) from None
        self._answered = True

    def delete(self, keys: Iterable[str]) -> None:
        import obstore  # noqa: PLC0415 - an extra

        wanted = list(map(self._checked, keys))
        # Many in one request, where the bucket takes that; one that is gone already keeps no other from going.
        groups = [wanted] if self._scheme == "s3" and wanted else [[key] for key in wanted]
        for group in groups:
            try:
                obstore.delete(self._store, group)
            except FileNotFoundError:
                self._refuse_missing_bucket()
            except _failures() as error:
                raise self._trouble(group[0], "cannot remove", error) from None

    def _refuse_missing_bucket(self) -> None:
        if not self._answered:
            for _ in self.listed("made"):
                break

    def _checked(self, key: str) -> str:
        if self._prefix_bytes + len(key.encode()) > _LONGEST_KEY:
            raise LedgerError(f"{self.home}: a name is too long for a bucket, {key[:60]!r}...; choose a shorter one")
        return key

    def _trouble(self, key: str, what: str, error: Exception) -> LedgerError:
        status, text = _status(error), str(error).partition("\n\nDebug source")[0]
        code = found[1] if (found := _CODE.search(text)) else ""
        place = f"{self.home}/{key}: {what}"
        if code == "NoSuchBucket" or (status == 404 and what == "cannot list"):
            return LedgerError(f"{self.home}: there is no bucket '{self._bucket}'; make it, or check its name")
        if status in (401, 403):
            rights = f"check {_VARIABLES[self._scheme]}, and what they may do in this bucket"
            return LedgerError(f"{place}: the bucket refuses these credentials{f' ({code})' if code else ''}; {rights}")
        if status == 501 or code == "NotImplemented":
            return LedgerError(f"{place}: this kind of bucket cannot do that ({code or status}); use another one")
        if status is not None and 400 <= status < 500 and status not in (408, 409, 425, 429):
            return LedgerError(f"{place}: the bucket refuses the request ({code or status})")
        if "metadata" in text.lower() and "credential" in text.lower():
            return LedgerError(f"{self.home}: no credentials for the bucket; set {_VARIABLES[self._scheme]}")
        why = f"the bucket answers {status}{f' ({code})' if code else ''}" if status else "the bucket does not answer"
        return OutOfReach(f"{place}: {why}; the same command goes on from here when it does")


def _failures() -> tuple[type[Exception], ...]:
    from obstore.exceptions import BaseError  # noqa: PLC0415 - an extra

    return (BaseError, TimeoutError, OSError)


def _status(error: Exception) -> int | None:
    found = _STATUS.search(str(error))
    return int(found[1]) if found else None


def _parts(url: str) -> tuple[str, str, str]:
    """Scheme, bucket and prefix; StudyError for what is none of the three."""
    split = urlsplit(url)
    wanted = "s3://BUCKET/PREFIX or gs://BUCKET/PREFIX"
    if split.scheme not in SCHEMES:
        raise StudyError(f"{url!r} is no bucket; wanted: {wanted}")
    if "@" in split.netloc:
        names = _VARIABLES[split.scheme]
        raise StudyError(f"{split.scheme}://...@...: a bucket's address has no key in it; set {names} instead")
    if split.query or split.fragment or not re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", split.netloc):
        raise StudyError(f"{url!r} names no bucket; wanted: {wanted}")
    return split.scheme, split.netloc, split.path.strip("/")


def _connected(scheme: str, bucket: str, prefix: str, patience: float) -> "ObjectStore":
    if find_spec("obstore") is None:
        raise StudyError(f"{scheme}://{bucket}: files in a bucket need one more package: {INSTALL}")
    from obstore.store import GCSStore, S3Store  # noqa: PLC0415 - an extra

    # A part takes its time on a slow line; a silent bucket is noticed sooner.
    client: Any = {"timeout": timedelta(seconds=600), "read_timeout": timedelta(seconds=max(1.0, min(60.0, patience)))}
    retry: Any = {
        "max_retries": 20,
        "retry_timeout": timedelta(seconds=patience),
        "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=15), "base": 2},
    }
    make: Callable[..., ObjectStore] = S3Store if scheme == "s3" else GCSStore
    # For Cloud Storage, only the user's own credentials can name another server.
    client["allow_http"] = scheme == "gs" or _on_this_machine(os.environ) or _allowed(os.environ)
    try:
        return make(bucket, prefix=prefix or None, client_options=client, retry_config=retry)
    except _failures() as error:
        why = str(error).partition("\n")[0]
        raise LedgerError(f"{scheme}://{bucket}: the bucket's settings are wrong: {why}") from None


def _allowed(environment: Mapping[str, str]) -> bool:
    return environment.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes")


def _on_this_machine(environment: Mapping[str, str]) -> bool:
    """Whether the endpoint is of this machine: only there a run's files may go without encryption unasked."""
    address = next((environment[name] for name in _ENDPOINTS if environment.get(name)), "")
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _version(told: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: told[name] for name in ("e_tag", "version") if isinstance(told.get(name), str)}
