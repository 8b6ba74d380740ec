import pytest

from overnight.study import Study, resolve
from study.writing import ITEMS, a_study, complaint, write


def contents(study):
    stage = resolve(study).stages[0]
    return [
        (ask.arm.template, [message.content for message in ask.messages]) for ask in stage.task.start(stage.items(), 0)
    ][:4]


def test_an_inline_prompt():
    assert contents(a_study()) == [("prompt", ["Grade: one"]), ("prompt", ["Grade: two"])]


def test_templates_are_files_beside_the_study(tmp_path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "short one.txt").write_bytes(b"\xef\xbb\xbfShort:\r\n{text}")
    path = write(
        tmp_path,
        """
        name: essay
        task: generate
        items: [{ID: S01, text: one}]
        templates: [prompts/short one.txt, {name: long, text: "Long: {text} {ID}"}]
        models: [openai/gpt-4.1]
        """,
    )
    study = Study.load(path)
    assert contents(study) == [("short one", ["Short:\none"]), ("long", ["Long: one S01"])]
    assert [arm.name for arm in resolve(study).stages[0].arms] == [
        "short-one__openai__gpt-4.1__default__forward",
        "long__openai__gpt-4.1__default__forward",
    ]


def test_a_column_of_messages():
    items = [
        {"ID": "a", "chat": [{"role": "user", "content": "hi"}]},
        {"ID": "b", "chat": '[{"role": "user", "content": "ho"}]'},
    ]
    study = a_study(prompt=None, messages="chat", items=items, system="For {ID}")
    assert contents(study) == [("messages", ["For a", "hi"]), ("messages", ["For b", "ho"])]


def test_a_model_s_system_comes_before_the_study_s():
    models = ["openai/gpt-4.1", {"model": "openai/gpt-4.1-nano", "system": "Own {ID}"}]
    study = a_study(system="All {ID}", models=models, items=ITEMS[:1])
    assert contents(study) == [("prompt", ["All S01", "Grade: one"]), ("prompt", ["Own S01", "Grade: one"])]


def test_a_missing_template_is_said(tmp_path):
    path = write(
        tmp_path,
        """
        name: essay
        task: generate
        items: [{ID: S01, text: one}]
        templates:
          - no.txt
        models: [openai/gpt-4.1]
        """,
    )
    wanted = f"{path}:5:5: templates[0]: {tmp_path / 'no.txt'}: no such file; a text in place is written {{name: ..., text: ...}}"
    assert complaint(lambda: resolve(Study.load(path))) == wanted


def test_an_empty_template_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("\n")
    study = a_study(prompt=None, templates=[tmp_path / "a.txt"])
    assert complaint(lambda: resolve(study)) == "study: templates[0]: the text is empty"


def test_a_template_must_be_utf_8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ok\nna\xefve")
    study = a_study(prompt=None, templates=[tmp_path / "a.txt"])
    wanted = f"{tmp_path / 'a.txt'}:2: byte 3 of the line (0xef, ï in Windows-1252) is not UTF-8; save the file as UTF-8, or: iconv -f WINDOWS-1252 -t UTF-8 a.txt > utf8-a.txt"
    assert complaint(lambda: resolve(study)) == wanted


def test_two_templates_cannot_share_a_name():
    study = a_study(prompt=None, templates=[{"name": "a", "text": "x"}, {"name": "a", "text": "y"}])
    wanted = "study: templates[1]: two templates are called 'a'; give one of them another with {name: ..., text: ...}"
    assert complaint(lambda: resolve(study)) == wanted


@pytest.mark.parametrize("prompt", ["mine.txt", " prompts/mine.md\n"])
def test_a_file_name_is_not_sent_as_a_prompt(prompt):
    name = prompt.strip()
    wanted = f"study: prompt: '{name}' would be sent as it stands; to use a file write templates: [{name}]"
    assert complaint(lambda: resolve(a_study(prompt=prompt))) == wanted


COLUMNS = "which is no column of the items; the columns are ID, text"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": "{txt}"}, f"prompt: template 'prompt' asks for {{txt}}, {COLUMNS}; did you mean 'text'?"),
        (
            {"prompt": None, "templates": [{"name": "a", "text": "{text}"}, {"name": "b", "text": "{Text}"}]},
            f"templates[1]: template 'b' asks for {{Text}}, {COLUMNS}; did you mean 'text'?",
        ),
        ({"system": "{who}"}, f"system: template 'system' asks for {{who}}, {COLUMNS}"),
        (
            {"models": ["openai/gpt-4.1", {"model": "openai/gpt-4.1", "system": "{whom}"}]},
            f"models[1].system: template 'system' asks for {{whom}}, {COLUMNS}",
        ),
        ({"prompt": None, "messages": "chat"}, f"messages: `messages` asks for 'chat', {COLUMNS}"),
    ],
)
def test_a_missing_column_is_said_before_anything_is_read(tmp_path, changes, message):
    (tmp_path / "essays.csv").write_text("ID,text\nS01,one\n")
    study = a_study(items=tmp_path / "essays.csv", **changes)
    assert complaint(lambda: resolve(study)) == f"study: {message}"


def test_a_row_without_a_column_is_said_with_its_line(tmp_path):
    path = tmp_path / "essays.jsonl"
    path.write_text('{"ID": "S01", "text": "one"}\n\n{"ID": "S02", "txt": "two"}\n')
    wanted = f"{path}:3: template 'prompt' asks for {{text}}, which is no column of the items; the columns are ID, txt; did you mean 'txt'?"
    assert complaint(lambda: resolve(a_study(items=path))) == wanted


def test_a_row_without_messages_is_said_with_its_line(tmp_path):
    path = tmp_path / "essays.jsonl"
    path.write_text('{"ID": "S01", "txt": "one"}\n')
    wanted = f"{path}:1: `messages` asks for 'chat', which is no column of the items; the columns are ID, txt"
    assert complaint(lambda: resolve(a_study(items=path, prompt=None, messages="chat"))) == wanted


def test_a_template_without_a_place_is_noted():
    note = "template 'prompt' names no column: every item is asked the same"
    assert note in resolve(a_study(prompt="Hello {{}}")).stages[0].notes
    assert note not in resolve(a_study()).stages[0].notes


def test_turns_come_after_the_question():
    (stage,) = resolve(a_study(turns=["Sure?", "Really, {text}?"])).stages
    assert stage.task.most_turns == 3
    assert stage.task.spec()["turns"] == ["Sure?", "Really, {text}?"]
    assert resolve(a_study()).stages[0].task.most_turns == 1


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([], "turns: the list is empty"),
        (["x", " "], "turns[1]: the text is empty"),
        ("Sure?", "turns: wanted a list, found the text 'Sure?'"),
        ([{"text": "x"}], "turns[0]: wanted text, found a mapping"),
    ],
)
def test_what_is_wrong_with_turns_is_said(turns, message):
    assert complaint(lambda: a_study(turns=turns)) == f"study: {message}"


def test_a_file_name_is_not_sent_as_a_turn():
    wanted = "study: turns[1]: 'again.txt' would be sent as it stands; turns are written in place"
    assert complaint(lambda: resolve(a_study(turns=["Sure?", "again.txt"]))) == wanted


def test_a_column_of_messages_may_be_in_a_table(tmp_path):
    path = tmp_path / "chats.csv"
    path.write_text('ID,chat\na,"[{""role"": ""user"", ""content"": ""hi""}]"\n')
    assert contents(a_study(items=path, prompt=None, messages="chat")) == [("messages", ["hi"])]
