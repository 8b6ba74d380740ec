"""Packages of other people, as an installer would have put them into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def distribution(folder: Path, name: str, files: Mapping[str, str], entry_points: str) -> Path:
    """The folder to be put on `sys.path`."""
    place = folder / f"site-{name}"
    information = place / f"{name}-1.0.dist-info"
    information.mkdir(parents=True)
    for file, text in files.items():
        (place / file).write_text(text)
    (information / "entry_points.txt").write_text(entry_points)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    return place


def lookalike(folder: Path, name: str, **limits: int) -> Path:
    """A look-alike of OpenAI, as a package of one file."""
    told = ", ".join(f"{field}={value}" for field, value in {"requests": 1000, "bytes": 10**8, **limits}.items())
    source = f"""
from overnight.providers import Limits
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeBatches, LookalikeVendor

provider = LookalikeVendor(Lookalike(
    name={name!r}, title={name.title()!r}, key_variable="{name.upper()}_API_KEY",
    base_url_variable="{name.upper()}_BASE_URL", address="http://host/v1",
    chat_path="/chat/completions", models_path="/models", thinking=lambda _: None,
    batches=LookalikeBatches(limits=Limits({told})), emulator_path="/openai/v1",
))
"""
    return distribution(folder, name, {f"{name}.py": source}, f"[overnight.providers]\n{name} = {name}:provider\n")
