"""The user's word: given by a flag, by a line of Python, at a question in the terminal, or on an earlier day."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from overnight.consent.kept import Kept, read_kept, write_kept
from overnight.core.arguments import checked
from overnight.core.errors import ConsentNeeded

# Shows a question and tells whether the user said yes.
Ask = Callable[[str], bool]


class _Word:
    """What this process was told. Consent is the user's and not a study's, so there is one for all verbs."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        self.kept = Kept()
        self.ask: Ask | None = None

    def known(self) -> Kept:
        """With what is on file; a file that another process has added to meanwhile counts as well."""
        filed = read_kept()
        hosts = dict(filed.hosts)
        for host, variables in self.kept.hosts.items():
            hosts[host] = tuple(dict.fromkeys((*hosts.get(host, ()), *variables)))
        return Kept(hosts=hosts, paths=tuple(dict.fromkeys((*filed.paths, *self.kept.paths))))

    def keep(self, change: Callable[[Kept], Kept]) -> None:
        """Remember it for the user; where nothing can be kept it holds for this process."""
        self.kept = change(self.kept)
        filed = read_kept()
        if change(filed) != filed:
            write_kept(change(filed))


_word = _Word()


@checked
def allow(hosts: Sequence[str] | str = (), paths: Sequence[str | Path] | str | Path = ()) -> None:
    """Agree by name to addresses that studies may send to, and to files or folders that they may read.

    Paths are remembered for the user at once; a host is remembered with the key that is then sent there.
    """
    for host in (hosts,) if isinstance(hosts, str) else hosts:
        _word.hosts.add(host_named(host))
    for path in (paths,) if isinstance(paths, str | Path) else paths:
        real = os.path.realpath(Path(path).expanduser())
        _word.keep(lambda kept, real=real: kept.with_path(real))  # type: ignore[misc]


def ask_with(ask: Ask | None) -> None:
    """How the user is asked from here on; None where nobody can be asked."""
    _word.ask = ask


def forget() -> None:
    """As at the start of a process."""
    _word.__init__()  # type: ignore[misc]


def host_named(text: str) -> str:
    """`gateway.example`, `gateway.example:8443`, `gs://bucket`, `s3://bucket`; of a whole address its host."""
    name = text.strip().lower()
    scheme, mark, rest = name.partition("://")
    if not mark:
        return name.rstrip("/")
    host = rest.split("/")[0]
    return host if scheme in ("http", "https") else f"{scheme}://{host}"


def require_host(host: str, variable: str, why: str) -> None:
    """`host` may have a port; a word for the host alone is good for all of its ports."""
    names = {host, re.sub(r":\d+$", "", host)}
    known = _word.known()
    if any(variable in known.hosts.get(name, ()) for name in names):
        return
    if not names & _word.hosts:
        _ask_or_refuse(why, f"--allow-host {host}", f"overnight.allow(hosts=[{host!r}])")
    grant_host(host, variable)


def grant_host(host: str, variable: str) -> None:
    _word.keep(lambda kept: kept.with_host(host, variable))


def require_path(real: Path, covers: Callable[[Path], bool], why: str) -> None:
    """`covers` tells whether a path that was allowed is word enough for this one."""
    if any(covers(Path(allowed)) for allowed in _word.known().paths):
        return
    _ask_or_refuse(why, f"--allow-path {real}", f"overnight.allow(paths=[{str(real)!r}])")
    _word.keep(lambda kept: kept.with_path(str(real)))


def _ask_or_refuse(why: str, flag: str, python: str) -> None:
    if _word.ask is not None and _word.ask(f"{why}. Allow it, and remember that?"):
        return
    raise ConsentNeeded(f"{why}; if that is meant, add {flag} (in Python: {python})")
