"""What a plain install brings is what the source needs: no more, and nothing that is missing when it is wanted."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

from overnight.prices.price_list import snapshot

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, SETUP = SETTINGS["project"], SETTINGS["tool"]["setuptools"]
# What is imported under another name than it is installed by.
IMPORTED_AS = {
    "python-dotenv": "dotenv",
    "pyyaml": "yaml",
    "azure-identity": "azure",
    "google-auth": "google",
    "genai-prices": "genai_prices",
    "resvg-py": "resvg_py",
}
# Parts of another package's own interface, which brings them.
BROUGHT = {"requests": "google", "multidict": "aiohttp", "yarl": "aiohttp"}
OUR_OWN = {"overnight", "overnight_emulator"}
# Imported by its own plugin, which nobody else loads.
HOSTS = {"pytest"}


def names(requirements: list[str]) -> set[str]:
    found = {re.split(r"[\[<>=!~ ;]", one)[0].lower() for one in requirements}
    return {IMPORTED_AS.get(name, name) for name in found} - OUR_OWN


def imports(folder: Path = ROOT / "src") -> dict[str, set[str]]:
    """Packages of others by the modules that import them; what only a type checker reads does not count."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = []
        for node in ast.walk(tree):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module or ""]
            for module in modules:
                package = module.partition(".")[0]
                if package not in sys.stdlib_module_names and package not in OUR_OWN:
                    found.setdefault(BROUGHT.get(package, package), set()).add(path.name)
    return found


CORE = names(PROJECT["dependencies"])
EXTRAS = {name for extra, list_ in PROJECT["optional-dependencies"].items() if extra != "dev" for name in names(list_)}


def test_every_package_is_imported() -> None:
    assert sorted(CORE - imports().keys()) == []


def test_what_is_not_in_a_plain_install_is_asked_for_in_one_place() -> None:
    missing = {package: modules for package, modules in imports().items() if package not in CORE | HOSTS}
    assert missing.keys() <= EXTRAS
    assert {package: len(modules) for package, modules in missing.items()} == dict.fromkeys(missing, 1)


def test_rankings_need_no_extra() -> None:
    assert {"numpy", "scipy"} <= CORE
    told = [
        str(path.relative_to(ROOT))
        for place in ("src", "docs", "README.md")
        for path in ([ROOT / place] if place.endswith(".md") else sorted((ROOT / place).rglob("*.*")))
        if path.suffix in {".py", ".md"}
        and re.search(r"overnight\[rank|extra `rank`", path.read_text(encoding="utf-8"))
    ]
    assert told == []


def test_the_lowest_versions_are_those_that_are_tried() -> None:
    """`make lowest` tries the lower end of each range, and of each range."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tried = dict(
        re.findall(r"'([A-Za-z-]+)==([0-9.]+)'", makefile.partition("LOWEST :=")[2].partition("LOWEST_EXTRAS :=")[0])
    )
    ends = dict(one.split(">=") for one in PROJECT["dependencies"])
    assert tried.keys() == ends.keys()
    for name, end in ends.items():
        assert f"{tried[name]}.".startswith(f"{end}."), name


def test_the_tests_run_with_the_version_that_the_snapshot_was_taken_from() -> None:
    """Else a newer package would be read in place of the list that they are about."""
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"genai-prices=={snapshot().version}" in pins


def test_the_list_of_prices_is_in_the_package_with_its_licence() -> None:
    assert {"**/*.json", "**/*.txt"} <= set(SETUP["package-data"]["overnight"])
    licence = ROOT / "src" / "overnight" / "prices" / "snapshot-licence.txt"
    assert "Permission is hereby granted" in licence.read_text(encoding="utf-8")


def test_the_emulator_is_a_package_of_its_own_from_the_same_source() -> None:
    folder = ROOT / "packages" / "emulator"
    alone = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (folder / "overnight_emulator").resolve() == (ROOT / "src" / "overnight_emulator").resolve()
    assert alone["version"] == PROJECT["version"]
    assert set(alone["dependencies"]) <= set(PROJECT["dependencies"])
    needed = {package for package, modules in imports(ROOT / "src" / "overnight_emulator").items()}
    assert needed - HOSTS == names(alone["dependencies"])
