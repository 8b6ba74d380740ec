"""Wrong use: one plain line, the nearest right thing in it, and exit code 2."""

import pytest

from overnight.cli import main


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rnu"], "no command 'rnu'; did you mean 'run'?"),
        (["statsu", "fruit"], "no command 'statsu'; did you mean 'status'?"),
        (["xyzzy"], "no command 'xyzzy' (see overnight --help)"),
        (["--versoin"], "no option '--versoin'; did you mean '--version'?"),
        (["run", "a.yaml", "--limt", "3"], "run: no option '--limt'; did you mean '--limit'?"),
        (["run", "a.yaml", "--emulat"], "run: no option '--emulat'; did you mean '--emulate'?"),
        (["run", "a.yaml", "--jsno=1"], "run: no option '--jsno'; did you mean '--json'?"),
        (["run", "a.yaml", "--study", "b"], "run: no option '--study'"),
        (["run", "a.yaml", "-x"], "run: no option '-x'"),
        (["run"], "run: STUDY is missing"),
        (["run", "a.yaml", "b.yaml"], "run: one argument too many: 'b.yaml'"),
        (["run", "a.yaml", "--limit"], "run: --limit needs a value"),
        (["run", "a.yaml", "--limit", "many"], "run: --limit: 'many' is not a whole number"),
        (["run", "a.yaml", "--runs", "a", "--runs", "b"], "run: --runs is given twice"),
        (["run", "a.yaml", "--reask", "faild"], "run: --reask: 'faild' is not one of failed, unparsed, refused,"),
        (["watch", "--interval", "soon"], "watch: --interval: 'soon' is not a number"),
        (["watch", "--interval", "0"], "watch: --interval: 0 is not above 0"),
        (["plan", "a.yaml", "--limit", "-3"], "plan: --limit: -3 is not above 0"),
        (["compare", "a.csv"], "compare: --model is missing"),
        (["submit"], "submit: STUDIES is missing"),
    ],
)
def test_one_line_with_the_nearest(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.startswith(f"overnight: {expected}")
    assert seen.err.count("\n") == 1
    verb = arguments[0] if not expected.startswith("no ") else ""
    assert f"(see {' '.join(filter(None, ('overnight', verb, '--help')))})" in seen.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "nowhere.yaml"], "nowhere.yaml"),
        (["plan", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "fruit.yaml", "--emulate", "--timeout", "soon"], "--timeout: 'soon' is not a duration"),
        (["run", "fruit.yaml", "--limit", "0", "--emulate"], "--limit: 0"),
        (["status", "nothing"], "no run 'nothing' in runs"),
        (["results", "nothing", "--emulate"], "no run 'nothing' in runs/.rehearsal"),
        (["resume", "--emulate"], "`overnight run --emulate STUDY` makes one"),
        (["submit", "fruit.yaml", "fruit.yaml", "--as", "x"], "--as x: names one run, but there are 2 studies"),
        (["submit", "fruit.yaml", "--provider", "openai"], "--provider is for a ready-made .jsonl file"),
        (["adopt"], "name a provider and a batch id"),
        (["adopt", "openai"], "name the batch id"),
        (["adopt", "opnai", "batch_1"], "did you mean 'openai'?"),
        (["adopt", "openai", "batch_1", "batch_2"], "wanted a provider and a batch id, found openai batch_1 batch_2"),
        (["adopt", "openai", "--output-file", "no.jsonl"], "no.jsonl"),
        (["adopt", "--shard", "fruit", "batch_1"], "--shard fruit: wanted RUN:SHARD"),
        (["adopt", "--shard", "fruit:1"], "name the one batch id"),
        (["adopt", "--shard", "fruit:1", "openai", "batch_1"], "name the one batch id"),
        (["resolve", "fruit", "--none"], "resolve: name the shard with --shard N"),
        (["resolve", "fruit", "--shard", "1"], "overnight adopt --shard fruit:1 BATCH_ID"),
        (["generate", "--items", "items.csv", "--model", "openai/gpt-4.1"], "wanted one of --prompt and --template"),
    ],
)
@pytest.mark.usefixtures("study")
def test_what_the_verbs_refuse(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert expected in seen.err
    assert [line for line in seen.err.splitlines() if line.startswith("overnight: ")] == seen.err.splitlines()[-1:]
