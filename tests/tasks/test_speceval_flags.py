import os
import re
from pathlib import Path

import pytest

from overnight.tasks._specs.file_names import apart, as_name, by_file_name
from overnight.tasks._specs.speceval_flags import buckets_of, model_of, read_config, run_name
from overnight.tasks.comply import Flags as ComplyFlags
from overnight.tasks.generate import Flags as GenerateFlags
from overnight.tasks.rank import Flags as RankFlags
from study.writing import complaint

SHIPPED = Path(__file__).parents[2] / "examples" / "speceval"
CONFIG = """\
spec_name: openai
spec_path: rules.jsonl
candidate_generation_dirs: [a/results, b/results]
ranking_judge_model_name: gpt-4o-mini-2024-07-18
ranking_judge_org: openai
output_dir_base: out
batch_size: 25
temperature: 0.0
verbose: true
"""


@pytest.fixture
def config(tmp_path):
    def written(text):
        (tmp_path / "config.yaml").write_text(text)
        return tmp_path / "config.yaml"

    return written


def test_every_key_of_a_config_is_used(config):
    flags = RankFlags(config_file=config(CONFIG))
    keys = flags.keys()
    assert keys["name"] == "rank-openai-gpt-4o-mini-2024-07-18"
    assert (keys["spec"], keys["candidates"], keys["batch"]) == (
        "rules.jsonl",
        ["a/results", "b/results"],
        {"max_requests": 25},
    )
    assert flags.models() == [{"model": "openai/gpt-4o-mini-2024-07-18", "temperature": 0.0}]


OTHERWISE = {
    "spec_name": "mine",
    "spec_path": "other.jsonl",
    "candidate_generation_dirs": "[c/results]",
    "ranking_judge_model_name": "gpt-4.1",
    "ranking_judge_org": "together",
    "batch_size": "26",
    "temperature": "0.5",
    "input_bucket": "gs://lab/other",
    "output_bucket": "gs://lab/other",
}


@pytest.mark.parametrize("key", OTHERWISE)
def test_another_value_of_a_key_is_another_study(config, key):
    """Where files go (`output_dir_base`) is no part of it."""
    written = CONFIG + "input_bucket: gs://lab/in/\noutput_bucket: gs://lab/out\n"
    assert OTHERWISE.keys() == {line.split(":")[0] for line in written.splitlines()} - {"verbose", "output_dir_base"}
    changed = re.sub(rf"^{key}: .*$", f"{key}: {OTHERWISE[key]}", written, flags=re.MULTILINE)
    (plain, asked), other = (
        (flags.keys(), flags.models()) for flags in (RankFlags(config_file=config(text)) for text in (written, changed))
    )
    assert plain["buckets"] == {"input": "gs://lab/in", "output": "gs://lab/out"}
    assert other != (plain, asked)


def test_flags_win_over_a_config(config):
    flags = RankFlags(
        config_file=config(CONFIG),
        batch_size=7,
        ranking_judge_model_name="gemini-2.0-flash-001",
        ranking_judge_org="google",
    )
    assert flags.keys()["batch"] == {"max_requests": 7}
    assert flags.models() == [{"model": "google/gemini-2.0-flash-001", "temperature": 0.0}]


def test_a_key_in_a_config_is_used_and_kept_nowhere(config, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "before")
    flags = RankFlags(config_file=config(CONFIG + "openai_api_key: sk-from-the-config\n"))
    keys = flags.keys()
    assert os.environ["OPENAI_API_KEY"] == "sk-from-the-config"
    assert "sk-from" not in str(keys) + str(flags.models())
    said = capsys.readouterr().err
    assert "openai_api_key is used for this command and kept nowhere" in said
    assert "sk-from" not in said


@pytest.mark.parametrize("flags", [RankFlags, ComplyFlags])
def test_keys_that_are_typed_are_used_and_kept_nowhere(flags, monkeypatch, capsys):
    variables = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}
    for variable in variables.values():
        monkeypatch.setenv(variable, "before")
    typed = {f"{vendor}_api_key": f"sk-typed-{vendor}" for vendor in variables}
    keys = flags(spec_path=Path("rules.jsonl"), candidate_generation_dirs=["a"], **typed).keys()
    assert [os.environ[variable] for variable in variables.values()] == list(typed.values())
    assert "sk-typed" not in str(keys) + capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch_sise: 3", "unknown key 'batch_sise'; did you mean 'batch_size'?"),
        ("batch_size: many", "batch_size: not as it should be: found the text 'many'"),
        ("compliance_judge_org: openai", "unknown key 'compliance_judge_org'"),
        ("- a", "wanted keys such as spec_path, found a list"),
        ('openai_api_key: "sk-\\0x"', "openai_api_key holds characters that no key has"),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(config, text, message):
    path = config(text)
    said = complaint(lambda: read_config(path, "ranking"))
    assert message in said
    assert said.startswith(str(path))


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*configs*/*.yaml")), ids=lambda path: path.name)
def test_the_shipped_configs_are_read(path):
    flags = (RankFlags if path.parent.name == "configs" else ComplyFlags)(config_file=path)
    assert flags.models()[0]["temperature"] == 0.0
    assert len(flags.keys()["candidates"]) == 2


def test_there_are_as_many_configs_as_told():
    assert len(list(SHIPPED.glob("*configs*/*.yaml"))) == 9


@pytest.mark.parametrize(
    ("name", "org", "model"),
    [
        ("gpt-4.1", None, "gpt-4.1"),
        ("gemini-1.5-pro\t", None, "google/gemini-1.5-pro"),
        ("Qwen/Qwen3", None, "together/Qwen/Qwen3"),
        ("claude-3-7-sonnet-20250219", "anthropic", "anthropic/claude-3-7-sonnet-20250219"),
    ],
)
def test_models_go_to_their_owners(name, org, model):
    assert model_of(name, org) == model


def test_what_is_missing_is_told():
    assert complaint(RankFlags().keys) == "rank: --spec is missing"
    assert complaint(ComplyFlags(spec_path=Path("x.jsonl")).keys) == "comply: --candidates is missing"
    assert "go together" in complaint(lambda: buckets_of("gs://a", None))
    assert "wanted openai, anthropic" in complaint(lambda: model_of("x", "meta"))
    assert "generate: a specification goes with --inputs; or" in complaint(GenerateFlags(spec_path=Path("x")).keys)
    assert "--output-base-dir goes with --inputs" in complaint(GenerateFlags(output_base_dir=Path("x")).keys)
    assert complaint(GenerateFlags().keys) == "generate: wanted one of --prompt and --template"


def test_a_specification_and_its_name_may_both_be_given():
    inputs = {"pregenerated_inputs_dir": Path("in"), "model_name": "gpt-4.1", "org": "openai"}
    keys = GenerateFlags(spec="rules.jsonl", spec_name="mine", **inputs).keys()
    assert (keys["spec"], keys["name"]) == ("rules.jsonl", "generate-mine-gpt-4.1")
    assert "a name is --spec-name" in complaint(GenerateFlags(spec="mine", **inputs).keys)
    together = {**inputs, "model_name": "Qwen/Qwen3", "org": None}
    assert GenerateFlags(spec="openai", **together).keys()["name"] == "generate-openai-Qwen-Qwen3"


def test_together_is_live_with_so_many_calls_at_once():
    flags = GenerateFlags(
        model_name="Qwen/Qwen3", pregenerated_inputs_dir=Path("in"), spec_name="openai", batch_size=10
    )
    keys = flags.keys()
    assert (keys["mode"], keys["live"], keys["batch"]) == ("live", {"concurrency": 10}, None)
    assert keys["name"] == "generate-openai-Qwen-Qwen3"


def test_the_same_model_in_buckets_is_another_run():
    flags = {"model_name": "gemini-2.0-flash-001", "pregenerated_inputs_dir": Path("in"), "spec_name": "openai"}
    bucketed = GenerateFlags(**flags, input_bucket="gs://b/in/", output_bucket="gs://b/out").keys()
    assert bucketed["buckets"] == {"input": "gs://b/in", "output": "gs://b/out"}
    assert bucketed["name"] != GenerateFlags(**flags).keys()["name"]


@pytest.mark.parametrize("name", ["a/b", "..", "a\\b", "x\n", "å b", "8x7b"])
def test_names_are_safe_as_files(name):
    plain = as_name(name)
    assert plain not in {"", ".", ".."}
    assert not set(plain) & set("/\\\n")


def test_run_names_are_plain():
    assert run_name("rank", "my spec/1", "Qwen/Qwen3") == "rank-my-spec-1-Qwen-Qwen3"


def test_files_that_would_have_one_name_are_told_apart():
    """`AxB` against `C` is not `A` against `BxC`."""
    assert apart(["AxBxC", "AxBxC", "axbxc", "a/b", "a_b", "AxBxC_2"]) == [
        "AxBxC",
        "AxBxC_3",
        "axbxc_4",
        "a_b",
        "a_b_2",
        "AxBxC_2",
    ]


def test_a_file_may_bear_an_id_whose_marks_no_name_can_have():
    assert by_file_name(["a/b", "c"]) == {"a/b": "a/b", "a_b": "a/b", "c": "c"}
    assert by_file_name(["a/b", "a_b"])["a_b"] == "a_b"
    assert "a_b" not in by_file_name(["a/b", "a:b"])
