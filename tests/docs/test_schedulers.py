"""Every recipe for a scheduler is tried as far as it can be without the scheduler; the shell lines really run."""

from __future__ import annotations

import ast
import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from emulator_process import EmulatorProcess

PAGE = (Path(__file__).parents[2] / "docs" / "schedulers.md").read_text()
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
STUDY = """name: essays
task: generate
items: [{id: a, x: apple}, {id: b, x: pear}]
prompt: "Describe {x}."
models: [openai/gpt-4.1-mini]
"""


def recipes(section: str, language: str) -> list[str]:
    parts = _HEADING.split(PAGE)
    text = dict(zip(parts[1::2], parts[2::2], strict=True))[section]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """`/srv/overnight` of the page: a study that was sent, keys, and a `venv` with Overnight in it."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    overnight = tmp_path / "venv" / "bin" / "overnight"
    overnight.write_text(f'#!/bin/sh\nexec {sys.executable} -m overnight "$@"\n')
    overnight.chmod(0o755)
    (tmp_path / "essays.yaml").write_text(STUDY)
    slow = {"time_scale": 10, "latency": {"batch": [80_000, 80_000]}, "limits": {"fewest_requests": 1}}
    with EmulatorProcess(slow) as emulator:
        told = f"OPENAI_API_KEY=sk-test-0123456789\nOPENAI_BASE_URL={emulator.openai_url}\n"
        (tmp_path / "keys.env").write_text(told)
        sent = sh("set -a; . ./keys.env; venv/bin/overnight submit essays.yaml -q", tmp_path)
        assert sent.returncode == 0, sent
        yield tmp_path
        emulator.finish()
        done = sh("set -a; . ./keys.env; venv/bin/overnight resume essays --once -q", tmp_path)
        assert done.returncode == 0, done  # 0: done


def sh(command: str, place: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    here = command.replace("/srv/overnight", str(place))
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(place), "XDG_CONFIG_HOME": str(place / "config"), **environ}
    return subprocess.run(
        ["sh", "-c", here], cwd=place, env=surroundings, text=True, capture_output=True, timeout=120, check=False
    )


def keys_of(place: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (place / "keys.env").read_text().splitlines())


def test_every_scheduler_has_its_recipe() -> None:
    wanted = ["cron", "systemd", "Airflow", "Prefect", "Dagster", "Kubernetes", "Slurm"]
    assert [name for name in _HEADING.findall(PAGE) if name in wanted] == wanted


def test_the_shell_lines_run_and_tell_that_it_goes_on_later(place: Path) -> None:
    """With batches under way: code 4 where the scheduler understands it, 0 where it would take it for a failure."""
    (cron,) = recipes("cron", "cron")
    assert re.match(r"(\S+ ){5}", cron)
    said = sh(cron.split(maxsplit=5)[5], place)
    assert said.returncode == 4, said
    assert "essays" in (place / "passes.log").read_text()

    service = unit(recipes("systemd", "ini")[0])["Service"]
    assert sh(f"exec {service['ExecStart']}", place, **keys_of(place)).returncode == int(service["SuccessExitStatus"])

    (job,) = recipes("Kubernetes", "yaml")
    command = container(job)["command"]
    assert command[:2] == ["sh", "-c"]
    assert sh(command[2], place, **keys_of(place)).returncode == 0

    (slurm,) = recipes("Slurm", "bash")
    (place / "sbatch").write_text('#!/bin/sh\necho "sbatch $@"\n')
    (place / "sbatch").chmod(0o755)
    passed = sh(slurm, place, PATH=f"{place}:{os.environ['PATH']}")
    assert (passed.returncode, passed.stdout.splitlines()[-1]) == (0, "sbatch --begin=now+10minutes pass.sbatch")


def test_other_codes_are_failures_of_the_job(tmp_path: Path) -> None:
    """Nothing was sent here, and there is no such run: a person has to look."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "overnight").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "venv" / "bin" / "overnight").chmod(0o755)
    (tmp_path / "keys.env").write_text("X=y\n")
    (job,) = recipes("Kubernetes", "yaml")
    assert sh(container(job)["command"][2], tmp_path).returncode == 3
    assert sh(recipes("Slurm", "bash")[0], tmp_path).returncode == 3


def unit(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_the_units_are_as_systemd_wants_them(tmp_path: Path) -> None:
    service, timer = recipes("systemd", "ini")
    assert unit(service)["Service"]["Type"] == "oneshot"
    assert set(unit(timer)["Timer"]) == {"OnBootSec", "OnUnitInactiveSec"}
    if shutil.which("systemd-analyze") is None:
        return
    binary = tmp_path / "overnight"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    text = re.sub(r"/srv/overnight/venv/bin/overnight", str(binary), service)
    (tmp_path / "overnight.service").write_text(text.replace("User=overnight\n", ""))
    (tmp_path / "overnight.timer").write_text(timer)
    units = [str(tmp_path / name) for name in ("overnight.service", "overnight.timer")]
    said = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    complaints = [line for line in said.stderr.splitlines() if "overnight" in line]
    assert complaints == []


def container(job: str) -> dict[str, list[str]]:
    spec = yaml.safe_load(job)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (one,) = spec["containers"]
    return dict(one)


def test_the_cron_job_has_what_kubernetes_wants() -> None:
    (text,) = recipes("Kubernetes", "yaml")
    job = yaml.safe_load(text)
    assert (job["apiVersion"], job["kind"], job["spec"]["concurrencyPolicy"]) == ("batch/v1", "CronJob", "Forbid")
    template = job["spec"]["jobTemplate"]["spec"]
    assert (template["backoffLimit"], template["template"]["spec"]["restartPolicy"]) == (0, "Never")
    volumes = {volume["name"] for volume in template["template"]["spec"]["volumes"]}
    assert {mount["name"] for mount in container(text)["volumeMounts"]} == volumes


@pytest.mark.parametrize("name", ["Airflow", "Prefect", "Dagster"])
def test_the_programs_are_python_and_call_one_pass(name: str) -> None:
    (code,) = recipes(name, "python")
    tree = ast.parse(code)
    imported = {
        node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    }
    assert name.lower() in imported
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert any("venv/bin/overnight resume" in text and "--once" in text for text in texts)
    assert any(isinstance(node, ast.Constant) and node.value == 4 for node in ast.walk(tree))


@pytest.mark.parametrize("language", ["sh", "bash"])
def test_shell_scripts_are_well_formed(language: str) -> None:
    for script in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL):
        checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")
