"""Files of a run, which may come from a stranger: no symbolic link is followed, and nobody else may read them."""

import os
import stat
from pathlib import Path

from overnight.core.errors import FileDamaged

_WRITE = os.O_WRONLY | os.O_CREAT
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def strange(path: Path) -> str | None:
    """What is wrong with a thing that is neither a plain file nor a folder; None for those, and where nothing is."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None  # whoever opens it says what is wrong
    if stat.S_ISLNK(mode):
        return "is a symbolic link, which a run has none of; it is not followed"
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return "is no plain file, which all of a run's are"
    return None


def refuse_strange(path: Path, way_out: str | None = None) -> None:
    """FileDamaged for anything that is there and is neither a plain file nor a folder."""
    what = strange(path)
    if what is not None:
        raise FileDamaged(f"{path} {what}: remove it{f', and {way_out}' if way_out else ''}")


def open_to_read(path: Path) -> int:
    """A handle on a plain file; a pipe that nobody writes to does not hold us up."""
    refuse_strange(path)
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def open_to_write(path: Path, flags: int = _WRITE | os.O_TRUNC) -> int:
    """A handle on a plain file that only its owner may read, whatever the umask is."""
    refuse_strange(path)
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    os.fchmod(handle, PRIVATE_FILE)
    return handle


def make_private(path: Path) -> None:
    """An empty file that only its owner may read, for a library that then writes into it; one that is there stays."""
    os.close(open_to_write(path, _WRITE))


def make_private_folder(path: Path) -> None:
    """A folder that only its owner may enter; one that is there stays as it is, and a link to one is refused."""
    refuse_strange(path)
    try:
        path.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(PRIVATE_FOLDER)


def make_folders_above(path: Path) -> None:
    """Those that are missing. A hidden one, such as that of the rehearsals, is for its owner alone."""
    for folder in reversed(path.parents):
        if not folder.exists():
            make_private_folder(folder) if folder.name.startswith(".") else folder.mkdir(exist_ok=True)


def sync_directory(path: Path) -> None:
    """What was made, renamed or removed in a folder is so on disk, too."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
