"""Whom a run tells how it ended: an address, the desktop, or a variable of the environment that holds an address.

Only this much of a target is ever kept or shown. What a variable holds may be a secret from beginning to end (the
address of a Slack channel, a mailbox with its password), so it is read when it is needed and told to nobody.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
from yarl import URL

from overnight.consent import check_told, grant_told
from overnight.consent.addresses import host_of
from overnight.core.errors import StudyError

DESKTOP = "desktop"
# Each is a connection of its own, all at the same moment.
MOST_TARGETS = 20
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://\S+")


class Target(msgspec.Struct, frozen=True):
    """`text` is an http(s) address without secrets, `desktop`, or `$NAME`; `where` begins complaints about it."""

    text: str
    where: str

    @property
    def variable(self) -> str:
        """The variable that holds the address; empty where the target is the address."""
        return self.text[1:] if self.text.startswith("$") else ""

    @property
    def label(self) -> str:
        """How it is called in messages."""
        if self.variable or self.text == DESKTOP:
            return self.text
        return host_of(self.text) if is_web(self.text) and _has_host(self.text) else "somebody without an address"

    def address(self, environ: Mapping[str, str]) -> str:
        """Where it is told; StudyError where there is none, which never shows what the variable holds."""
        if self.text == DESKTOP:
            return self.text
        if not self.variable:
            # A run on disk may be of a stranger's making, and hold what no study may.
            if is_web(self.text) and _has_host(self.text):
                return self.text
            raise StudyError(f"{self.where}: wanted an address that begins with https://")
        value = environ.get(self.variable, "").strip()
        if not value:
            raise StudyError(f"{self.where}: {self.text} is not set; wanted the address that the run's end is told to")
        scheme = scheme_of(value)
        if scheme is None or (is_web(value) and not _has_host(value)):
            raise StudyError(f"{self.where}: {self.text} holds no address, such as https://... or mailto://...")
        return value


def scheme_of(address: str) -> str | None:
    found = _ADDRESS.fullmatch(address)
    return None if found is None else found["scheme"].lower()


def is_web(address: str) -> bool:
    """What is told by a plain POST, unless the library knows the service behind it."""
    return scheme_of(address) in ("http", "https")


def _has_host(address: str) -> bool:
    try:
        return bool(URL(address).host)
    except ValueError:
        return False


def check_targets(targets: Sequence[Target], environ: Mapping[str, str]) -> None:
    """ConsentNeeded where nobody but a study or a run named the place.

    A variable that is not set is no reason to refuse here: whoever collects a run may not have what its sender had.
    """
    for target in targets:
        if target.text != DESKTOP:
            try:
                address = target.address(environ)
            except StudyError:
                continue  # nothing is sent then, and that is said when the run has ended
            check_told(address, target.variable, target.where)


def grant_targets(targets: Sequence[Target], environ: Mapping[str, str]) -> None:
    """The user's own program named them."""
    for target in targets:
        if target.text != DESKTOP:
            grant_told(target.address(environ), target.variable)
