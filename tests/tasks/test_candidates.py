"""Answers from folders that other tools wrote: nothing of theirs is credited to another model, or judged by mistake."""

import json
from unicodedata import normalize

import pytest

from overnight.core.errors import ConsentNeeded
from overnight.study import Study
from overnight.study.resolved import resolve
from study.writing import complaint
from tasks.speceval_folders import RULES, batched, together, write_spec

ANSWERS = {"no_spam": [("one?", "a1"), ("two?", "a2")], "be_kind": [("three?", "a3")]}


@pytest.fixture
def stage(tmp_path):
    write_spec(tmp_path)

    def made(candidates, task="comply", **more):
        study = Study(
            name="s",
            task=task,
            spec=str(tmp_path / "rules.jsonl"),
            candidates=candidates,
            models=["openai/gpt-4.1"],
            **more,
        )
        (found,) = resolve(study).stages
        return found

    return made


def told(one):
    return {item.id: item.fields.get("answer") for item in one.items()}


def test_names_go_with_their_folders_whatever_their_order(stage, tmp_path):
    """SpecEval sorted the names, and not the folders: answers were credited to the wrong model."""
    later = batched(tmp_path, "a-model", {"no_spam": [("one?", "from a")]})
    first = batched(tmp_path, "z-model", {"no_spam": [("one?", "from z")]})
    for listed in ([first, later], [later, first]):
        found = {
            item.fields["candidate"]: item.fields["answer"] for item in stage([str(one) for one in listed]).items()
        }
        assert found == {"a-model": "from a", "z-model": "from z"}


@pytest.mark.parametrize("below", ["results", "", ".."])
def test_a_candidate_is_called_by_the_nearest_folder_that_names_it(stage, tmp_path, below):
    folder = batched(tmp_path, "gpt-4.1x2 größer", ANSWERS)
    written = {"results": folder, "": folder.parent, "..": folder.parent.parent}[below]
    assert {item.fields["candidate"] for item in stage([str(written)]).items()} == {"gpt-4.1x2 größer"}


def test_the_one_file_of_together_is_read(stage, tmp_path):
    folder = together(tmp_path, "Qwen3", ANSWERS)
    expected = {"no_spam_0@Qwen3": "a1", "no_spam_1@Qwen3": "a2", "be_kind_0@Qwen3": "a3"}
    assert told(stage([str(folder)])) == told(stage([str(folder / "results.json")])) == expected


def test_two_candidates_of_one_name_are_refused(stage, tmp_path):
    one = batched(tmp_path, "m", ANSWERS, "20250506_115521")
    other = batched(tmp_path, "m", ANSWERS, "20250507_115521")
    message = complaint(lambda: stage([str(one), str(other)]))
    assert "two candidates are called 'm'" in message
    assert "candidates: {name: folder}" in message
    assert len(told(stage({"m old": str(one), "m new": str(other)}))) == 6
    several = complaint(lambda: stage([str(one.parent.parent)]))
    assert several.endswith("answers of 2 runs (20250506_115521 to 20250507_115521); name one")


@pytest.mark.parametrize("below", ["results", "", ".."])
def test_answers_that_are_listed_twice_are_refused_whatever_they_are_called(stage, tmp_path, below):
    folder = batched(tmp_path, "m", ANSWERS)
    written = {"results": folder, "": folder.parent, "..": folder.parent.parent}[below]
    for listed in ([str(folder), str(written)], {"one": str(folder), "other": str(written)}):
        assert f"{folder}: these answers are listed twice" in complaint(lambda listed=listed: stage(listed))


def test_one_candidate_alone_cannot_be_ranked(stage, tmp_path):
    folder = str(batched(tmp_path, "m", ANSWERS))
    for listed in ([folder], {"m": folder}):
        message = complaint(lambda listed=listed: stage(listed, task="rank"))
        assert message.startswith("study: candidates: rank compares candidates, and there is one only")
    assert len(told(stage([folder], task="comply"))) == 3


def test_what_is_no_answer_is_never_judged_but_counted(stage, tmp_path):
    bad = ["ERROR: rate_limit", "Error during generation: x", "EXPIRED", "CANCELED", "CANCELLED: x", "", "  ", None]
    good = ["An error: I made one.", "EXPIRED milk smells."]
    folder = batched(tmp_path, "m", {"no_spam": [(f"{n}?", said) for n, said in enumerate(bad + good)]})
    found = stage([str(folder)])
    assert told(found) == {"no_spam_8@m": good[0], "no_spam_9@m": good[1]}
    assert found.task.spec()["left_out"] == {"m": {"empty": 3, "error": 2, "expired": 3}}
    assert "m: 8 answers are not judged (3 empty, 2 error, 3 expired)" in found.notes
    assert "m: no answers on 1 of 2 statements: be_kind" in found.notes


def test_one_answer_that_is_not_judged_is_told_of_as_one(stage, tmp_path):
    folder = batched(tmp_path, "m", {"no_spam": [("a?", "ERROR: x"), ("b?", "Yes.")]})
    assert "m: 1 answer is not judged (1 error)" in stage([str(folder)]).notes


def test_inputs_are_joined_by_their_words_not_by_their_place(stage, tmp_path):
    one = batched(tmp_path, "a", {"no_spam": [("one?", "a1"), ("two?", "a2"), ("same?", "a3"), ("same?", "a4")]})
    other = batched(tmp_path, "b", {"no_spam": [("two?", "b2"), ("same?", "b3"), ("other?", "b5"), ("one?", "b1")]})
    found = stage([str(one), str(other)], task="rank")
    pairs = {
        item.id: [(member["candidate"], member["answer"]) for member in item.fields["members"]]
        for item in found.items()
    }
    assert pairs == {
        "no_spam_0": [("a", "a1"), ("b", "b1")],
        "no_spam_1": [("a", "a2"), ("b", "b2")],
        "no_spam_2": [("a", "a3"), ("b", "b3")],
        "no_spam_3": [("a", "a4")],
        "no_spam_4": [("b", "b5")],
    }
    assert found.task.spec()["left_out"] == {"a": {"no partner": 1}, "b": {"no partner": 1}}
    asked = {ask.item for ask in found.task.start(found.items(), 0)}
    assert asked == {"no_spam_0|a|b", "no_spam_1|a|b", "no_spam_2|a|b"}


@pytest.mark.parametrize(
    ("name", "found", "message"),
    [
        ("no_spam", "{broken", "no_spam.json: not JSON: "),
        ("no_spam", '{"a": 1}', "no_spam.json: wanted a list of answers, found a mapping"),
        ("no_spam", '[{"output_text": "x"}]', "no_spam.json: [0]: input_text: wanted a text, found nothing"),
        ("no_spam", '[{"input_text": "x", "output_text": 3}]', "output_text: wanted a text, found the number 3"),
        ("no_span", '[{"input_text": "x", "output_text": "y"}]', "a statement that is not in the spec; did you mean"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(stage, tmp_path, name, found, message):
    folder = batched(tmp_path, "m", {"be_kind": [("x", "y")]})
    (folder / f"{name}.json").write_text(found)
    assert message in complaint(lambda: list(stage([str(folder)]).items()))


def test_a_folder_without_answers_is_refused(stage, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "wanted results/<statement id>.json, or results.json" in complaint(lambda: stage([str(tmp_path / "empty")]))
    assert "no such folder" in complaint(lambda: stage([str(tmp_path / "nowhere")]))
    bad = together(tmp_path, "m", {"no_span": [("x", "y")]})
    assert "results[0]: 'no_span' is no statement of the spec" in complaint(lambda: stage([str(bad)]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": None}, "study: spec: `spec` goes with `candidates`, which is missing"),
        ({"spec": None}, "study: candidates: `candidates` goes with `spec`, which is missing"),
        ({"candidates": []}, "study: candidates: no folder is named"),
        ({"spec": None, "candidates": None}, "study: items: wanted a file"),
    ],
)
def test_the_keys_go_together(changes, message):
    keys = {"name": "s", "task": "comply", "spec": "rules.jsonl", "candidates": ["x"], "models": ["openai/gpt-4.1"]}
    given = {key: value for key, value in {**keys, **changes}.items() if value is not None}
    assert complaint(lambda: Study(**given)).startswith(message)


def test_odd_names_reach_the_address_and_come_back(stage, tmp_path):
    """An x, a slash, spaces, marks and letters of any alphabet."""
    names = ["axb", "o1/mini", "två %7C|#3", "mixtral-8x7b"]
    folders = {name: str(batched(tmp_path, f"f{n}", {"no_spam": [("one?", name)]})) for n, name in enumerate(names)}
    found = stage(folders, task="rank")
    (item,) = found.items()
    for ask in found.task.start([item], 0):
        assert found.task.item_of(ask.item) == "no_spam_0"
    seen = {found.task.item_of(ask.item) for ask in found.task.start([item], 0)}
    assert seen == {"no_spam_0"}
    assert len(list(found.task.start([item], 0))) == 4 * 3  # every ordered pair


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_file_bears_its_statement_s_name_however_the_letters_are_put_together(stage, tmp_path, form):
    """A Mac takes letters apart: `é` in a file's name is then two characters, and one in the specification."""
    write_spec(tmp_path, [RULES[0] | {"id": "no spam é"}])
    folder = batched(tmp_path, "m", {normalize(form, "no spam é"): [("one?", "a1")]})
    assert told(stage([str(folder)])) == {"no spam é_0@m": "a1"}


@pytest.mark.parametrize("linked", ["file", "results", "model"])
def test_a_link_in_a_strangers_folder_reads_nothing_outside_it(tmp_path, linked):
    """The study's own folder holds a candidate that lies elsewhere, as a whole or with a part of it."""
    home = tmp_path / "theirs"
    (home / "models").mkdir(parents=True)
    write_spec(home)
    results = batched(tmp_path / "elsewhere", "m", ANSWERS)
    if linked == "model":
        (home / "models" / "m").symlink_to(results.parent)
    elif linked == "results":
        (home / "models" / "m").mkdir()
        (home / "models" / "m" / "results").symlink_to(results)
    else:
        (home / "models" / "m" / "results").mkdir(parents=True)
        (home / "models" / "m" / "results" / "no_spam.json").symlink_to(results / "no_spam.json")
    study = {
        "name": "s",
        "task": "comply",
        "spec": "rules.jsonl",
        "candidates": ["models/m"],
        "models": ["openai/gpt-4.1"],
    }
    (home / "study.yaml").write_text(json.dumps(study))
    with pytest.raises(ConsentNeeded, match="outside the study's folder"):
        resolve(Study.load(home / "study.yaml"))
