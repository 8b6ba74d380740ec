"""Other people's clients against the emulator: each in an environment of its own, live, streaming, tools and batch.

    python bench/clients/run.py                 all of them (make clients)
    python bench/clients/run.py litellm llm     these

Each script beside this one drives one client and says what it saw, a line for each thing that it tried. A client that
cannot do something by its own fault says so in a line that begins with `defect`, with what was seen; anything else that
fails is a finding.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".venv-clients"
CLIENTS: dict[str, tuple[str, ...]] = {
    "chatlas": ("chatlas[openai,anthropic,google]",),
    # curator 0.1.31 allows every instructor below 2, and cannot use those from 1.15 on (no handle_response_model).
    "curator": ("bespokelabs-curator", "instructor<1.15"),
    # distilabel 1.5.3 cannot be imported without requests, which it does not bring along, and hands a temperature to
    # the SDK of Anthropic, which takes none from 1.0 on.
    "distilabel": ("distilabel[openai,anthropic]", "requests", "anthropic<1"),
    "inspect_ai": ("inspect_ai", "openai", "anthropic", "google-genai"),
    "langchain": ("langchain-openai", "langchain-anthropic", "langchain-google-genai"),
    # litellm 1.106.2 cannot call a tool without mcp, which it does not bring along.
    "litellm": ("litellm", "mcp"),
    "llm": ("llm", "llm-anthropic", "llm-gemini"),
    "node": ("openai", "@anthropic-ai/sdk", "@google/genai"),
    "promptfoo": ("promptfoo",),
    "r": ("r-base-core", "r-cran-httr2", "r-cran-jsonlite"),
    "pairwise_llm": ("pairwiseLLM",),
    "ellmer": ("ellmer",),
    "plugin": (str(ROOT / "packages" / "emulator"), "pytest", "openai"),
}
# Who runs a script, and what scripts are called; all others are Python's.
RUNNERS = {
    "node": ("node", "node.mjs"),
    "promptfoo": ("node", "promptfoo.mjs"),
    "r": ("Rscript", "r_client.R"),
    "pairwise_llm": ("Rscript", "pairwise_llm.R"),
    "ellmer": ("Rscript", "ellmer_client.R"),
}
# inspect_ai looks at its batches once in a while, whatever the time scale.
PATIENCE = 1200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    options = parser.parse_args()
    findings = 0
    for name in options.clients or sorted(CLIENTS):
        print(f"{name} ({', '.join(CLIENTS[name])})", flush=True)
        problem = _prepared(name)
        lines = [f"not installed: {problem}"] if problem else _run(name)
        findings += sum(not line.startswith(("ok ", "defect ")) for line in lines)
        print("".join(f"  {line}\n" for line in lines), flush=True)
    return 1 if findings else 0


def _prepared(name: str) -> str:
    """Why the client cannot be installed; nothing when it is."""
    place = ENVIRONMENTS / name
    place.mkdir(parents=True, exist_ok=True)
    runner = RUNNERS.get(name, ("python", ""))[0]
    if runner == "Rscript":
        return _missing_in_r(name)
    if runner == "node":
        if shutil.which("npm") is None:
            return "there is no npm"
        wanted = ["npm", "install", "--silent", "--no-save", "--prefix", str(place), *CLIENTS[name]]
    else:
        if not (place / "bin" / "python").exists():
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        python = str(place / "bin" / "python")
        wanted = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *CLIENTS[name]]
    done = subprocess.run(wanted, check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no word"])[-1][:200]


def _missing_in_r(name: str) -> str:
    """R and its packages, which a whole machine shares, are the user's to install."""
    if shutil.which("Rscript") is None:
        return f"there is no R: apt-get install {' '.join(CLIENTS['r'])}"
    library = {"r": "httr2"}.get(name, CLIENTS[name][0])
    found = subprocess.run(["Rscript", "-e", f"library({library})"], check=False, capture_output=True)
    return "" if found.returncode == 0 else f"there is no R package {library}: install.packages('{library}')"


def _run(name: str) -> list[str]:
    """What the client's script says, with an emulator of its own beside it."""
    runner, script = RUNNERS.get(name, (str(ENVIRONMENTS / name / "bin" / "python"), f"{name}_client.py"))
    command = [
        sys.executable,
        "-m",
        "overnight_emulator",
        "--port",
        "0",
        "--time-scale",
        "5000",
        "--until-stdin-closes",
    ]
    truth = HERE / f"{name}.yaml"
    if truth.exists():
        command += ["--truth", str(truth)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as emulator:
        assert emulator.stdout is not None
        url = emulator.stdout.readline().removeprefix("listening on ").strip()
        if runner == "Rscript":
            told = [sys.executable, "-m", "overnight_emulator", "--env", "r", "--port", url.rpartition(":")[2]]
            lines = subprocess.run(told, check=True, capture_output=True, text=True).stdout
            (ENVIRONMENTS / name / "env.R").write_text(lines)
        try:
            variables = {} if runner == "Rscript" else _variables(url)
            done = subprocess.run(
                [runner, str(HERE / script)],
                check=False,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                env={**os.environ, **variables, "NODE_PATH": str(ENVIRONMENTS / name / "node_modules")},
                cwd=ENVIRONMENTS / name,
            )
        except subprocess.TimeoutExpired as late:
            said = late.stdout or b""
            return [*_told(said if isinstance(said, str) else said.decode()), f"not done after {PATIENCE} s"]
        finally:
            assert emulator.stdin is not None
            emulator.stdin.close()
            time.sleep(0.1)
    lines = _told(done.stdout)
    if done.returncode:
        lines.append(f"ended with {done.returncode}: {' | '.join(done.stderr.strip().splitlines()[-3:])[:600]}")
    return lines or ["said nothing"]


def _told(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith(("ok ", "defect ", "wrong "))]


def _variables(url: str) -> dict[str, str]:
    from overnight_emulator.dialects.all import environment

    return {**environment(url), "EMULATOR_URL": url}


if __name__ == "__main__":
    sys.exit(main())
