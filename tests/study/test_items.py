"""Items from files: every format, every complaint with its line."""

import csv
import io
import json
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.ask import Item
from overnight.core.errors import StudyError
from overnight.core.template import Template
from overnight.study import items as items_module
from overnight.study.files import TextFolder
from overnight.study.items import ItemSource, Need, open_items, repeated
from overnight.study.origin import Origin
from study.writing import complaint

texts = st.text(st.characters(codec="utf-8"))
# All but a zero byte, which is refused.
ids = texts.filter(lambda text: text and not text.isspace() and "\0" not in text)


def opened(path, id_column=None) -> ItemSource:
    return open_items(path, id_column, Origin())


def read(path, id_column=None) -> list[Item]:
    return list(opened(path, id_column).read())


def wrote(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- which column is the id


@pytest.mark.parametrize(
    ("header", "written", "chosen"),
    [
        ("text,ID,id", None, "ID"),
        ("text,id", None, "id"),
        ("name,text", None, "name"),
        ("ID,name", "name", "name"),
        (",text", None, ""),
    ],
)
def test_the_id_column(tmp_path, header, written, chosen):
    path = wrote(tmp_path, "a.csv", f"{header}\nx,y,z\n" if header.count(",") == 2 else f"{header}\nx,y\n")
    source = opened(path, written)
    assert source.id_column == chosen
    assert source.columns == tuple(header.split(","))


def test_a_missing_id_column_is_said(tmp_path):
    path = wrote(tmp_path, "a.csv", "ID,text\n1,x\n")
    wanted = f"study: id: {path} has no column 'id'; the columns are ID, text; did you mean 'ID'?"
    assert complaint(lambda: opened(path, "id")) == wanted


@pytest.mark.parametrize("name", ["a.txt", "folder"])
def test_texts_have_no_column_to_choose(tmp_path, name):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        wrote(path, "a.txt", "x")
    else:
        path.write_text("x\n")
    assert (
        complaint(lambda: opened(path, "text"))
        == f"study: id: {path} has no columns to choose the id from; leave `id` out"
    )


# --- csv and tsv


def test_everything_in_a_csv_is_text(tmp_path):
    path = wrote(tmp_path, "a.csv", b"\xef\xbb\xbfID,text,score\r\n007,caf\xc3\xa9,1.0\r\n8,NA,\r\n")
    assert read(path) == [
        Item("007", {"ID": "007", "text": "café", "score": "1.0"}),
        Item("8", {"ID": "8", "text": "NA", "score": ""}),
    ]


def test_a_source_can_be_read_again(tmp_path):
    source = opened(wrote(tmp_path, "a.csv", "ID,text\n1,x\n2,y\n"))
    assert list(source.read()) == list(source.read())
    assert source.name.endswith("a.csv")


def test_empty_lines_in_a_csv_are_passed_over(tmp_path):
    assert [item.id for item in read(wrote(tmp_path, "a.csv", "ID,text\n\n1,x\n\n\n2,y\n\n"))] == ["1", "2"]


def test_old_line_ends_are_line_ends(tmp_path):
    assert [item.id for item in read(wrote(tmp_path, "a.csv", "ID,text\r1,x\r2,y\r"))] == ["1", "2"]


def test_long_fields_are_read(tmp_path):
    long = "x" * 500_000
    assert read(wrote(tmp_path, "a.csv", f"ID,text\n1,{long}\n"))[0].fields["text"] == long


@settings(deadline=None)
@given(st.lists(st.tuples(ids, texts, texts), min_size=1, max_size=6, unique_by=lambda row: row[0]))
def test_a_csv_holds_any_characters(tmp_path_factory, rows):
    rows = [row if row[1].strip() or row[2].strip() else (row[0], "x", "") for row in rows]
    for suffix, delimiter in ((".csv", ","), (".tsv", "\t")):
        written = io.StringIO()
        writer = csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([("ID", "text", 'a "note", too\t'), *rows])
        path = tmp_path_factory.mktemp("csv") / f"a{suffix}"
        path.write_text(written.getvalue(), encoding="utf-8", newline="")
        assert [(item.id, *item.fields.values()) for item in read(path)] == [(row[0], *row) for row in rows]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1: the first line must name the columns"),
        ("\n1,2\n", ":1: the first line must name the columns"),
        ("ID,text,ID\n", ":1: two columns are called 'ID'"),
        ("ID;text\tnote\n1;x\ty\n", ":1: semicolons and tabs stand between the columns; wanted one of them"),
        ("ID,,text,\n1,x,y,z\n", ":2: column 4 has 'z' in it, and no name in the header"),
        ("ID,,text,,x\n1,x,y,z,a\n", ":1: two columns have no name"),
        ("ID,text,\n1,x,,\n", ":2: 4 fields where the header has 3; a text with delimiters in it stands in quotes"),
        ("I\0D\0,\0t\0e\0x\0t\0\n\0", ":1: this looks like UTF-16 without a mark at its start; save the file as UTF-8"),
        ("ID,text\n", ": there are no items"),
        ("ID,text\n1,x\n2\n", ":3: 1 field where the header has 2"),
        ("ID,text\n1,x,y\n", ":2: 3 fields where the header has 2; a text with delimiters in it stands in quotes"),
        (
            'ID,text\n1,"a\nb"\n2,x,y\n',
            ":4: 3 fields where the header has 2; a text with delimiters in it stands in quotes",
        ),
        ('ID,text\n1,"a\nb"\n2,"x\n\n', ":4: a quote is opened here and never closed"),
        ('ID,text\n1,"a"b\n', ":2: text goes on after a closing quote; a quote inside a field is written twice"),
        (
            b"ID,text\n1,x\n2,na\xefve\n",
            ":3: byte 5 of the line (0xef, ï in Windows-1252) is not UTF-8; save the file as UTF-8, or: iconv -f WINDOWS-1252 -t UTF-8 a.csv > utf8-a.csv",
        ),
        (
            "ID,text\n1,x\n".encode("utf-16") + b"x",
            ": begins as UTF-16, and goes on as something else; save the file as UTF-8",
        ),
        ("ID,text\n1,x\n,y\n", ":3: the id, column 'ID', is empty"),
        ("ID,text\n  ,y\n", ":2: the id, column 'ID', is empty"),
        ("ID,text\n1,\n", ":2: the item '1' is empty: it has nothing but its id"),
        ("ID,text\n1, \n", ":2: the item '1' is empty: it has nothing but its id"),
    ],
)
def test_what_is_wrong_with_a_csv_is_said(tmp_path, content, message):
    path = wrote(tmp_path, "a.csv", content)
    assert complaint(lambda: read(path)) == f"{path}{message}"


@pytest.mark.parametrize(
    "content",
    [
        "ID;text\n1;x, y\n2;z\n",
        "ID\ttext\n1\tx, y\n2\tz\n",
        'ID,text,\n1,"x, y",\n2,z\n',
        '\ufeffID,text,,\n1,"x, y",,\n,,,\n2,z,,\n,,,\n',
        'ID,text\n1,"x, y"\n2,z\n'.encode("utf-16"),
        "ID;text\n1;x, y\n2;z\n".encode("utf-16-be").replace(b"\0I", b"\xfe\xff\0I", 1),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_tables_as_other_programs_save_them(tmp_path, name, content):
    items = read(wrote(tmp_path, name, content))
    assert items == [Item("1", {"ID": "1", "text": "x, y"}), Item("2", {"ID": "2", "text": "z"})]


def test_a_field_without_end_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("overnight.study.files._LONGEST_FIELD", 1024 * 1024)
    before = csv.field_size_limit(1024)
    try:
        path = wrote(tmp_path, "a.csv", 'ID,text\n1,"' + "x" * 2**21)
        assert complaint(lambda: read(path)) == f"{path}:2: a field of more than 1 MiB; is a quote never closed?"
    finally:
        csv.field_size_limit(before)


def test_a_repeated_id_is_said_with_both_lines(tmp_path):
    path = wrote(tmp_path, "a.csv", 'ID,text\n1,"x\ny"\n2,z\n1,z\n')
    assert (
        complaint(lambda: read(path))
        == f"{path}:5: the id '1', column 'ID', was used before, at {path}:2; ids must be unique"
    )


def test_one_column_can_be_id_and_text(tmp_path):
    assert read(wrote(tmp_path, "a.csv", "word\nhouse\n")) == [Item("house", {"word": "house"})]


# --- jsonl


def test_jsonl(tmp_path):
    lines = b'\xef\xbb\xbf{"id": 7, "text": "caf\xc3\xa9", "n": 1.5, "tags": ["a"], "none": null}\n\n  \n{"id": "x", "text": "y"}'
    path = wrote(tmp_path, "a.jsonl", lines)
    assert read(path) == [
        Item("7", {"id": 7, "text": "café", "n": 1.5, "tags": ["a"], "none": None}),
        Item("x", {"id": "x", "text": "y"}),
    ]
    assert opened(path).columns is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.lists(st.tuples(ids, json_values), min_size=1, max_size=5, unique_by=lambda row: row[0]))
def test_jsonl_holds_any_value(tmp_path_factory, rows):
    rows = [{"ID": item_id, "text": "x", "value": value} for item_id, value in rows]
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=len(rows) % 2 == 0) + "\n" for row in rows), encoding="utf-8", newline=""
    )
    assert [(item.id, item.fields) for item in read(path)] == [(row["ID"], row) for row in rows]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": there are no items"),
        ("\n\n", ": there are no items"),
        ("{}\n", ":1: the item has no fields"),
        (
            '{"ID": 1, "text": "x"}\n{"ID": 2,}\n',
            ":2: not a line of JSON: JSON is malformed: trailing comma in object (byte 9)",
        ),
        ('{"ID": 1, "text": "x"}\n[1]\n', ":2: wanted an object in braces, found a list"),
        ('{"ID": 1, "text": "x"}\n7\n', ":2: wanted an object in braces, found the number 7"),
        (
            b'{"ID": 1, "text": "x"}\n{"ID": "\xff"}\n',
            ":2: byte 9 of the line (0xff, ÿ in Windows-1252) is not UTF-8; save the file as UTF-8, or: iconv -f WINDOWS-1252 -t UTF-8 a.jsonl > utf8-a.jsonl",
        ),
        (
            '{"ID": 1, "text": "x"}\n{"Id": 2, "text": "y"}\n',
            ":2: the id, column 'ID', is missing; the columns are Id, text; did you mean 'Id'?",
        ),
        ('{"ID": null, "text": "x"}\n', ":1: the id, column 'ID', is empty"),
        ('{"ID": "", "text": "x"}\n', ":1: the id, column 'ID', is empty"),
        ('{"ID": true, "text": "x"}\n', ":1: the id, column 'ID', is no text"),
        ('{"ID": ["a"], "text": "x"}\n', ":1: the id, column 'ID', is no text"),
        ('{"ID": "a", "text": ""}\n', ":1: the item 'a' is empty: it has nothing but its id"),
    ],
)
def test_what_is_wrong_with_jsonl_is_said(tmp_path, content, message):
    path = wrote(tmp_path, "a.jsonl", content)
    assert complaint(lambda: read(path)) == f"{path}{message}"


def test_numbers_and_their_text_are_one_id(tmp_path):
    path = wrote(tmp_path, "a.jsonl", '{"ID": 1, "text": "x"}\n{"ID": "1", "text": "y"}\n')
    assert (
        complaint(lambda: read(path))
        == f"{path}:2: the id '1', column 'ID', was used before, at {path}:1; ids must be unique"
    )


def test_deep_json_is_said(tmp_path):
    path = wrote(tmp_path, "a.jsonl", '{"ID": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    assert complaint(lambda: read(path)).startswith(f"{path}:1: not a line of JSON: ")


# --- lines and folders of text


def test_lines_of_text(tmp_path):
    path = wrote(tmp_path, "questions.txt", "Is it safe?\r\n\r\n  Is it wise?\n   \nWhy")
    assert [(item.id, item.fields["text"]) for item in read(path)] == [
        ("q0001", "Is it safe?"),
        ("q0002", "  Is it wise?"),
        ("q0003", "Why"),
    ]
    assert opened(path).columns == ("id", "text")


def test_a_line_that_is_added_renames_none(tmp_path):
    few = read(wrote(tmp_path, "few.txt", "x\n" * 9_999))
    many = read(wrote(tmp_path, "many.txt", "x\n" * 10_001))
    assert [item.id for item in many][: len(few)] == [item.id for item in few]
    assert many[-1].id == "q10001"


def test_no_lines_are_said(tmp_path):
    path = wrote(tmp_path, "questions.txt", "\n \n")
    assert complaint(lambda: read(path)) == f"{path}: there are no items"


def test_a_folder_of_texts(tmp_path):
    for name in ("essay10.txt", "essay2.txt", "Essay1.TXT", "notes.md", ".hidden.txt"):
        wrote(tmp_path, name, f"text of {name}\n")
    (tmp_path / "folder.txt").mkdir()
    assert [(item.id, item.fields) for item in read(tmp_path)] == [
        ("Essay1", {"id": "Essay1", "text": "text of Essay1.TXT\n"}),
        ("essay2", {"id": "essay2", "text": "text of essay2.txt\n"}),
        ("essay10", {"id": "essay10", "text": "text of essay10.txt\n"}),
    ]


@settings(deadline=None)
@given(
    st.lists(
        st.text("aB01.-é", min_size=1, max_size=5).filter(lambda name: name[0] != "."),
        min_size=1,
        max_size=6,
        unique_by=str.casefold,
    )
)
def test_folders_are_read_in_one_order(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("folder")
    for name in names:
        wrote(folder, f"{name}.txt", "x")
    found = [item.id for item in read(folder)]
    assert sorted(found) == sorted(names)
    assert found == [item.id for item in read(folder)]


def test_what_is_wrong_with_a_folder_is_said(tmp_path):
    assert complaint(lambda: read(tmp_path)) == f"{tmp_path}: there is no .txt file in this folder"
    wrote(tmp_path, "a.txt", " \n")
    assert (
        complaint(lambda: read(tmp_path)) == f"{tmp_path / 'a.txt'}: the item 'a' is empty: it has nothing but its id"
    )
    wrote(tmp_path, "a.txt", "x")
    wrote(tmp_path, "a.TXT", "y")
    wanted = (
        f"{tmp_path / 'a.txt'}: the id 'a', column 'id', was used before, at {tmp_path / 'a.TXT'}; ids must be unique"
    )
    assert complaint(lambda: read(tmp_path)) == wanted


# --- no such file


def test_a_missing_file_is_said(tmp_path):
    wanted = f"study: items: {tmp_path / 'no.csv'}: no such file or folder"
    assert complaint(lambda: opened(tmp_path / "no.csv")) == wanted


@pytest.mark.parametrize(("name", "near"), [("a", ""), ("a.json", "; did you mean '.jsonl'?")])
def test_another_kind_of_file_is_said(tmp_path, name, near):
    path = wrote(tmp_path, name, "x")
    kinds = ".csv, .tsv, .jsonl, .parquet, .txt, .xlsx, .xls, .ods, or a folder of .txt"
    assert complaint(lambda: opened(path)) == f"study: items: {path}: wanted a file that ends in {kinds}{near}"


def test_a_file_that_went_away_is_said(tmp_path):
    for name in ("a.csv", "a.jsonl", "a.txt"):
        path = wrote(tmp_path, name, '{"ID": "a", "text": "b"}\n')
        source = opened(path)
        path.unlink()
        assert complaint(lambda source=source: list(source.read())) == f"{path}: no such file"


def test_a_folder_that_cannot_be_listed_is_said(tmp_path):
    path = wrote(tmp_path, "essays", "no folder at all")
    with pytest.raises(StudyError, match="essays: "):
        TextFolder(path)


# --- ids that were seen


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=50))
def test_marks_that_came_twice_are_found(marks):
    assert repeated(array("q", marks)) == {one for one in marks if marks.count(one) > 1}


def test_one_mark_of_many_that_came_twice_is_found():
    marks = array("q", range(60_000))
    assert repeated(marks) == frozenset()
    assert repeated(marks + array("q", [3])) == {3}


class _Namesake(str):
    """Text whose hash is that of every other."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7


def test_equal_hashes_are_not_equal_ids():
    class Rows:
        name = "rows"
        columns = ("ID", "text")

        def place(self, number: int) -> str:
            return f"row {number}"

        def __iter__(self):
            yield from enumerate({"ID": _Namesake(one), "text": "x"} for one in ("a", "b", "b"))

    class Source(ItemSource):
        def _id(self, number, fields):
            return fields["ID"]

    source = Source(Rows(), "ID", ()).read()
    assert [next(source).id, next(source).id] == ["a", "b"]
    assert (
        complaint(lambda: list(source))
        == "row 2: the id 'b', column 'ID', was used before, at row 1; ids must be unique"
    )


ODD = st.sampled_from([None, "", " ", "NA", "nan", 5, ["a"], "n\0l", "pear"])


@given(
    odd=st.dictionaries(
        st.integers(0, 12), st.dictionaries(st.sampled_from(["id", "text", "other"]), ODD, max_size=2), max_size=3
    ),
    missing=st.sets(st.integers(0, 40), max_size=1),
    on_empty=st.sampled_from(["refuse", "allow", "skip"]),
    asks=st.sampled_from(["Say {text}", "Say {text} {other}", "Say"]),
)
def test_rows_that_are_looked_at_together_are_items_as_they_are_one_by_one(odd, missing, on_empty, asks):
    rows = [{"id": f"i{n}", "text": f"fruit number {n}", "other": "ok"} | odd.get(n, {}) for n in range(13)]
    for n in missing & set(range(13)):
        del rows[n]["text"]

    def read(at_once):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(items_module, "_AT_ONCE", at_once)
            source = open_items(rows, None, Origin(), [Need(Template(asks))], on_empty=on_empty)
            try:
                return source.check(), list(source.read()), source.count
            except StudyError as error:
                return str(error)

    assert read(1) == read(4) == read(50)
