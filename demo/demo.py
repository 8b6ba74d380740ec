"""`make demo`: a real little study on the built-in emulator, with the faults that providers have."""

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RUNS = Path("runs")


def overnight(*words: str) -> int:
    """Show the command, then run it."""
    print(f"\n$ overnight {' '.join(words)}", flush=True)
    return subprocess.run([sys.executable, "-m", "overnight", *words], check=False).returncode


def main() -> int:
    shutil.rmtree(RUNS / ".rehearsal" / "demo", ignore_errors=True)
    shutil.rmtree(RUNS / ".rehearsal" / ".emulator", ignore_errors=True)
    study, truth = str(HERE / "study.yaml"), str(HERE / "truth.yaml")
    overnight("plan", study, "--emulate", "--show", "1")
    code = overnight("run", study, "--emulate", "--truth", truth)
    overnight("results", "demo", "--emulate")
    overnight("status", "demo", "--emulate")
    overnight("costs", "demo", "--emulate")
    return code


if __name__ == "__main__":
    sys.exit(main())
