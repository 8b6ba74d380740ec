"""Where the emulator of a folder's rehearsals keeps what it was sent.

That is `.emulator` among the rehearsals. Many small folders, as the notebook functions make them, share one: there
`.emulator` is a file that names the folder, from where it lies itself.
"""

import os
from contextlib import suppress
from pathlib import Path

from overnight.core.opening import make_folders_above, make_private_folder, open_to_write, strange
from overnight.settings import Settings

NAME = ".emulator"
_LONGEST_PATH = 4096


def state_of(settings: Settings) -> Path:
    """The folder with the emulator's state."""
    own = settings.root / NAME
    if own.is_file() and strange(own) is None:
        shared = _named_in(own)
        if shared is not None:
            return shared
        own.unlink()  # what it names is gone: its rehearsals begin anew
    return own


def share_emulator(settings: Settings, other: Settings) -> None:
    """Rehearsals in one folder have the emulator of another one's, unless they have one already.

    Where nothing can be written, everything stays as it is.
    """
    own, state = settings.root / NAME, state_of(other)
    if not settings.emulate or own.exists():
        return
    with suppress(OSError):
        for folder in (state, settings.root):
            make_folders_above(folder)
            make_private_folder(folder)
        path = os.path.relpath(state.resolve(), settings.root.resolve())
        handle = open_to_write(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(handle, "wb") as file:
            file.write(os.fsencode(path))


def _named_in(file: Path) -> Path | None:
    """Only what is the user's own emulator already: the folder may be a stranger's, and could name anything."""
    with suppress(OSError, ValueError):
        named = (file.parent / os.fsdecode(file.read_bytes()[:_LONGEST_PATH])).resolve()
        about = named.lstat()
        if named.name == NAME and named.is_dir() and about.st_uid == os.getuid():
            return named
    return None
