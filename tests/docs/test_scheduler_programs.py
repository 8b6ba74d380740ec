"""The recipes for Airflow, Prefect and Dagster in the real libraries (`make schedulers`), with a stand-in for Overnight.

It says code 4 twice before it is done; a recipe that works calls it three times. What fails is called once.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from docs.test_schedulers import recipes

# A folder with an environment for each of them.
LIBRARIES = "OVERNIGHT_SCHEDULERS"
pytestmark = pytest.mark.skipif(LIBRARIES not in os.environ, reason="`make schedulers` installs them")
# How each library is told to run what is in the file, here and now.
RUN = {
    "Airflow": "{code}\nif __name__ == '__main__':\n    raise SystemExit(dag.test().state != 'success')",
    "Prefect": "{code}",
    "Dagster": (
        "{code}\nfrom dagster import DagsterInstance, materialize\nimport sys\n"
        "sys.exit(not materialize([essays], instance=DagsterInstance.ephemeral(), raise_on_error=False).success)\n"
    ),
}
# Ten minutes between two calls are more than a test has.
PATIENCE = {
    "Airflow": ("poke_interval=600", "poke_interval=1"),
    "Prefect": ("retry_delay_seconds=600", "retry_delay_seconds=0"),
    "Dagster": ("seconds_to_wait=600", "seconds_to_wait=0"),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """`/srv/overnight`, where each call of Overnight takes one code from a list and leaves a line."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    overnight = tmp_path / "venv" / "bin" / "overnight"
    overnight.write_text(
        '#!/bin/sh\necho "$@ with $OPENAI_API_KEY" >> calls\n'
        'code=$(head -n 1 codes); sed -i 1d codes; exit "${code:-1}"\n'
    )
    overnight.chmod(0o755)
    (tmp_path / "keys.env").write_text("OPENAI_API_KEY=sk-of-the-file\n")
    return tmp_path


def performed(name: str, place: Path, codes: list[int]) -> tuple[bool, list[str], str]:
    """Whether the scheduler calls it a success, the calls, and what was said."""
    python = Path(os.environ[LIBRARIES]).resolve() / name.lower() / "bin" / "python"
    (place / "codes").write_text("".join(f"{code}\n" for code in codes))
    (code,) = recipes(name, "python")
    before, after = PATIENCE[name]
    assert before in code
    code = code.replace(before, after).replace("/srv/overnight", str(place))
    code = code.replace("max_active_runs=1):", "max_active_runs=1) as dag:")
    program = place / "dags" / "recipe.py"
    program.parent.mkdir()
    program.write_text(RUN[name].format(code=code))
    home = {"AIRFLOW_HOME": str(place), "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "PREFECT_HOME": str(place / "prefect")}
    environ = {**os.environ, **home, "HOME": str(place), "DAGSTER_HOME": "", "NO_PROXY": "127.0.0.1,localhost"}
    if name == "Airflow":
        subprocess.run([python, "-m", "airflow", "db", "migrate"], env=environ, check=True, capture_output=True)
    done = subprocess.run(
        [python, program], cwd=place, env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    calls = (place / "calls").read_text().splitlines() if (place / "calls").exists() else []
    return done.returncode == 0, calls, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("name", RUN)
def test_not_yet_is_called_again_until_it_is_done(name: str, place: Path) -> None:
    success, calls, said = performed(name, place, [4, 4, 0])
    assert success, said
    assert calls == ["resume essays --once with sk-of-the-file"] * 3


@pytest.mark.parametrize("name", RUN)
def test_what_a_person_has_to_see_fails_at_once(name: str, place: Path) -> None:
    success, calls, said = performed(name, place, [3, 0])
    assert not success, said
    assert len(calls) == 1
