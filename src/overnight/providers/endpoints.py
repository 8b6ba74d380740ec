"""What a vendor reads from its variables: the key and the address, checked before anything is sent."""

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from overnight.core.errors import StudyError, Unauthorized
from overnight.core.wording import quoted


def found_key(environ: Mapping[str, str], variable: str, title: str) -> str:
    """The key in this variable; the vendor's title is for the words when there is none."""
    key = environ.get(variable, "").strip()
    if not key:
        raise Unauthorized(
            f"{variable} is not set: put the {title} key there or into a .env file (`--emulate` rehearses without one)"
        )
    if not can_be_key(key):
        raise Unauthorized(f"{variable} {NO_KEY}")
    return key


NO_KEY = "holds characters that no key has (a space, a quote, a line break?)"


def can_be_key(text: str) -> bool:
    """A header takes nothing else, nor does an environment take all of it."""
    return text.isascii() and text.isprintable() and " " not in text


def address_parts(address: str, where: str, wanted: str) -> SplitResult:
    """The parts of an address that can be called; `where` names the setting it is from."""
    try:
        parts = urlsplit(address.strip())
        host, userinfo = parts.hostname, parts.username
        parts.port  # noqa: B018 - raises when it is no number
    except ValueError:
        raise StudyError(f"{where}: '{address}' is not an address; wanted {wanted}") from None
    if userinfo is not None:
        raise StudyError(f"{where}: a user name or password in an address ends up in logs; leave it out")
    if parts.scheme not in ("http", "https") or not host:
        raise StudyError(f"{where}: '{address}' is not an address; wanted {wanted}")
    return parts


def checked_region(name: str, where: str) -> str:
    """It becomes part of a host: nothing in it may make another host of that."""
    if re.fullmatch(r"[a-z0-9-]{1,63}", name) is None:
        raise StudyError(f"{where}: {quoted(name)} is not the name of a region; wanted one such as us-east-1")
    return name
