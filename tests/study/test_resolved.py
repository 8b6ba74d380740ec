import subprocess
import sys

from overnight.core.ask import KeyMaker
from overnight.core.stage import StagePace
from overnight.study import PollSettings, Study, resolve
from study.writing import a_study, complaint, write


def test_a_stage_has_all_that_is_needed():
    resolved = resolve(a_study())
    assert resolved.name == "essay"
    (stage,) = resolved.stages
    assert stage.name == stage.task.name == "generate"
    assert [arm.stage for arm in stage.arms] == ["generate"]
    assert (stage.seed, stage.dedupe) == (0, True)
    assert stage.pace == StagePace(max_requests=None, segments=None, gather=600)
    assert resolved.poll == PollSettings(interval_seconds=60, per_job_delay=2)
    assert resolved.timeout_seconds == 86400
    assert [item.id for item in stage.items()] == ["S01", "S02"]


def test_settings_arrive():
    changes = {
        "replicates": 3,
        "seed": 5,
        "dedupe": False,
        "batch": {"max_requests": 4},
        "poll": {"per_job_delay": 0},
        "timeout": "1h30m",
    }
    resolved = resolve(a_study(**changes))
    (stage,) = resolved.stages
    assert (stage.seed, stage.dedupe) == (5, False)
    assert stage.pace == StagePace(max_requests=4)
    assert resolved.poll == PollSettings(interval_seconds=60, per_job_delay=0)
    assert resolved.timeout_seconds == 5400
    assert len(list(stage.task.start(stage.items(), stage.seed))) == 6


def test_paths_are_relative_to_the_study(tmp_path, monkeypatch):
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "essays.csv").write_text("ID,text\nS01,one\n")
    path = write(
        tmp_path / "studies",
        """
        name: essay
        task: generate
        items: essays.csv
        prompt: "{text}"
        models: [openai/gpt-4.1]
        """,
    )
    monkeypatch.chdir(tmp_path)
    assert [item.id for item in resolve(Study.load(path)).stages[0].items()] == ["S01"]
    (tmp_path / "studies" / "essays.csv").unlink()
    wanted = "studies/essay.yaml:3:8: items: studies/essays.csv: no such file or folder"
    assert complaint(lambda: resolve(Study.load("studies/essay.yaml"))) == wanted


def test_no_items_are_said_at_once():
    assert complaint(lambda: resolve(a_study(items=[]))) == "study: items: there are no items"


def test_the_same_study_asks_the_same_questions():
    def keys():
        (stage,) = resolve(a_study(models=["openai/gpt-4.1", "openai/gpt-4.1-nano"], replicates=2)).stages
        return [KeyMaker(ask.arm).key(ask) for ask in stage.task.start(stage.items(), 0)]

    assert keys() == keys()
    assert len(set(keys())) == len(keys()) == 8


def test_a_plain_study_waits_for_no_library(tmp_path):
    write(tmp_path, "ID,text\nS01,one\n", "essays.csv")
    program = f"""
import sys
from overnight.study import Study, resolve
items = {str(tmp_path / "essays.csv")!r}
study = Study(name="a", task="generate", items=items, prompt="{{text}}", models=["openai/gpt-4.1"])
print(*resolve(study).stages[0].items())
print(*sys.modules.keys() & {{"polars", "pandas", "numpy"}})
"""
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == "Item(id='S01', fields={'ID': 'S01', 'text': 'one'})\n\n"
