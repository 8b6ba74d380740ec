"""`notify`: whom a run tells how it ended. A study is a file that people share, so no secret may stand in it."""

import re
from typing import Any

from yarl import URL

from overnight.core.wording import number_of
from overnight.notifying import DESKTOP, MOST_TARGETS, Target
from overnight.study.origin import Origin, Route
from overnight.study.places import looks_secret

_VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")
_WANTED = "wanted an address that begins with https://, `desktop`, or $NAME, a variable that holds the address"


def read_notify(written: Any, origin: Origin) -> tuple[Target, ...]:
    """What is wrong is never shown: it may be the secret itself."""
    if written is None:
        return ()
    if not isinstance(written, list | tuple):
        raise origin.error(("notify",), "wanted a list, such as [https://hooks.example/done]")
    if not written:
        raise origin.error(("notify",), "the list is empty")
    if len(written) > MOST_TARGETS:
        raise origin.error(("notify",), f"{number_of(len(written), 'target')}; {MOST_TARGETS} are the most")
    found: list[Target] = []
    for index, one in enumerate(written):
        route: Route = ("notify", index)
        text = _text_of(one, origin, route)
        if any(text == other.text for other in found):
            raise origin.error(route, "it is listed twice")
        found.append(Target(text, origin.at(route)))
    return tuple(found)


def _text_of(written: Any, origin: Origin, route: Route) -> str:
    if isinstance(written, dict) and [*written] == ["env"] and isinstance(written["env"], str):
        written = f"${written['env']}"
    if not isinstance(written, str):
        raise origin.error(route, _WANTED)
    if written == DESKTOP or _VARIABLE.fullmatch(written):
        return written
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", written) and not re.match("https?://", written):
        raise origin.error(route, f"such an address holds secrets; {_ELSEWHERE}")
    try:
        url = URL(written) if re.fullmatch(r"https?://[^/\s]\S*", written) else URL()
    except ValueError:
        url = URL()
    if not url.host:
        raise origin.error(route, _WANTED)
    if url.user or url.password or url.raw_query_string or url.raw_fragment or looks_secret(url.raw_path):
        raise origin.error(route, f"this address seems to hold a secret; {_ELSEWHERE}")
    return written


_ELSEWHERE = "put it into an environment variable and write $NAME here, such as $NOTIFY_SLACK"
