"""A virtual environment for each rival, outside the project's own: made at need under `.venv-rivals`, then kept."""

from __future__ import annotations

import compileall
import re
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".venv-rivals"
SOURCE = FOLDER.parent / "src" / "overnight"


def compile_ours() -> None:
    """Bytecode beside our source, as every installed package has it, also where the environment says to write none."""
    compileall.compile_dir(SOURCE, quiet=2)


def python_with(packages: str | None, folder: Path = FOLDER) -> Path | None:
    """The interpreter that has these packages (None: our own); None when they cannot be installed here."""
    if packages is None:
        return Path(sys.executable)
    home = folder / re.sub(r"[^a-z0-9]+", "-", packages.lower()).strip("-")
    python, installed = home / "bin" / "python", home / "installed"
    if installed.exists():
        return python
    print(f"installing {packages} (once)", file=sys.stderr, flush=True)
    if not python.exists():
        venv.create(home, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages.split()]
    if subprocess.run(install, check=False, capture_output=True).returncode != 0:
        print(f"{packages} cannot be installed here and is left out", file=sys.stderr, flush=True)
        return None
    installed.touch()
    return python
