"""Files that a study names: those in its own folder are its own, all others need the user's word."""

import os
from pathlib import Path

from overnight.consent.given import require_path
from overnight.core.errors import StudyError


def check_path(path: Path, folder: Path, where: str) -> None:
    """Raises ConsentNeeded for a path that leads out of `folder`, by whatever way. `where` names the setting."""
    try:
        real, root = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    except ValueError:
        raise StudyError(f"{where}: {str(path)!r} is not a path") from None
    if is_inside(real, root):
        return
    which = "is a hidden file" if real.is_relative_to(root) else "is outside the study's folder"
    require_path(real, lambda allowed: is_inside(real, allowed), f"{where}: {real} {which}, and would be read")


def is_inside(real: Path, root: Path) -> bool:
    """Below `root`, and not hidden there: a study at home may not read the keys that lie in `.ssh` or `.env`."""
    if not real.is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in real.relative_to(root).parts)
