"""SpecEval's flags and configs as they are: what they say, as a study has it."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from overnight.core.errors import StudyError
from overnight.core.wording import found_text
from overnight.providers.endpoints import NO_KEY, can_be_key
from overnight.study.document import read_document

# Whose model it is, in SpecEval's words and in ours. Google's lie in buckets at Vertex, else at the Gemini API.
_ORGS = {"openai": "openai", "anthropic": "anthropic", "google": "google", "together": "together"}
_KEYS = {
    "openai_api_key": "OPENAI_API_KEY",
    "anthropic_api_key": "ANTHROPIC_API_KEY",
    "google_api_key": "GEMINI_API_KEY",
}
_COMMON: dict[str, type | tuple[type, ...]] = {
    "spec_name": str,
    "spec_path": str,
    "candidate_generation_dirs": list,
    "output_dir_base": str,
    "batch_size": int,
    "temperature": (int, float),
    "verbose": bool,
    "input_bucket": str,
    "output_bucket": str,
    **dict.fromkeys(_KEYS, str),
}


def model_of(name: str, org: str | None) -> str:
    """`gpt-4o`, of `openai`, is openai/gpt-4o; a name with a slash and no owner is Together's."""
    name = name.strip()
    if org is not None:
        if org.lower() not in _ORGS:
            raise StudyError(f"{org}: wanted {', '.join(_ORGS)}")
        return f"{_ORGS[org.lower()]}/{name}"
    if name.startswith("gemini"):
        return f"google/{name}"
    return f"together/{name}" if "/" in name else name


def read_config(path: Path, judge: str) -> dict[str, Any]:
    """A YAML file with the flags' names, underscores in place of hyphens. Every key is known, or refused.

    `judge` is how the keys about the judge begin. Keys to providers are for this process alone: they are put where
    its providers look, told, and handed to nobody.
    """
    found, origin = read_document(path)
    if not isinstance(found, Mapping):
        raise origin.error((), f"wanted keys such as spec_path, found {found_text(found)}")
    known = {**_COMMON, f"{judge}_judge_model_name": str, f"{judge}_judge_org": str}
    for key, value in found.items():
        if key not in known:
            raise origin.unknown_key((), str(key), known)
        if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] is not bool):
            raise origin.error((key,), f"not as it should be: found {found_text(value)}")
    use_keys({key: str(found[key]) for key in _KEYS if key in found}, str(path))
    return {key: value for key, value in found.items() if key not in _KEYS}


def use_keys(keys: Mapping[str, str | None], where: str) -> None:
    """Keys that were written down are used in this process, and nowhere kept."""
    for name, key in keys.items():
        if key:
            if not can_be_key(key.strip()):
                raise StudyError(f"{where}: {name} {NO_KEY}")
            os.environ[_KEYS[name]] = key
            way_out = f"better: export {_KEYS[name]}=..., and take it out of there"
            sys.stderr.write(f"{where}: {name} is used for this command and kept nowhere; {way_out}\n")


def run_name(*parts: str) -> str:
    """The same command again is the same run."""
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip("._-") for part in parts]
    return "-".join(part for part in plain if part)[:100]


def buckets_of(source: str | None, target: str | None) -> dict[str, str] | None:
    if (source is None) != (target is None):
        raise StudyError("--input-bucket and --output-bucket go together: one of them is missing")
    return None if source is None or target is None else {"input": source.rstrip("/"), "output": target.rstrip("/")}
