import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.study.document import parse_document, read_document
from study.writing import complaint


def parsed(text: str):
    return parse_document(text, "s.yaml", Path()).value


def refused(text: str) -> str:
    return complaint(lambda: parsed(text))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("-3", -3),
        ("+3", 3),
        ("1:30", "1:30"),
        ("2024-01-31", "2024-01-31"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
        (".", "."),
        ("1.2.3", "1.2.3"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ('!!int "12"', 12),
        ("<<", "<<"),
        ("24h", "24h"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(written, value):
    found = parsed(f"key: {written}\n")["key"]
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_is_one():
    assert math.isnan(parsed("key: .nan")["key"])


def test_lists_keep_their_words():
    assert parsed("thinking: [off, on, 1024]") == {"thinking": ["off", "on", 1024]}


@settings(deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="ascii", min_codepoint=32)),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcdef", min_size=1), inner, max_size=3),
        max_leaves=12,
    )
)
def test_json_is_read_as_json(value):
    text = json.dumps({"key": value})
    assert parsed(text) == {"key": value}


def test_merged_keys_come_after_written_ones():
    text = """
    base: &base {temperature: 0, max_tokens: 10, extra: {a: 1}}
    more: &more {max_tokens: 20, top_p: 1}
    one: {<<: *base, max_tokens: 30}
    two: {<<: [*base, *more]}
    """
    found = parsed(text)
    assert found["one"] == {"temperature": 0, "max_tokens": 30, "extra": {"a": 1}}
    assert found["two"] == {"temperature": 0, "max_tokens": 10, "extra": {"a": 1}, "top_p": 1}


def test_a_merge_can_hold_a_merge():
    assert parsed("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}")["c"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\ntask: b\nname: c\n", "s.yaml:3:1: duplicate key 'name', first given in line 1"),
        ("a: {b: 1, b: 2}", "s.yaml:1:11: duplicate key 'b', first given in line 1"),
        ("a: {<<: {x: 1}, <<: {y: 1}}", "s.yaml:1:17: duplicate key '<<', first given in line 1"),
        ("a: &a\n  - *a\n", "s.yaml:1:4: an alias inside its own anchor"),
        ("a: &a {b: *a}", "s.yaml:1:4: an alias inside its own anchor"),
        ("a: &a {<<: *a}", "s.yaml:1:4: an alias inside its own anchor"),
        ("a: {<<: 1}", "s.yaml:1:9: << takes a mapping or a list of mappings"),
        ("1: a", "s.yaml:1:1: a key must be text; put 1 in quotes"),
        ("a: {true: 1}", "s.yaml:1:5: a key must be text; put true in quotes"),
        ("? [a]\n: b", "s.yaml:1:3: a key must be text"),
        ("a: !env KEY", "s.yaml:1:4: the tag !env has no meaning in a study"),
        ("a: !!binary aGk=", "s.yaml:1:4: the tag !!binary has no meaning in a study"),
        ("a: !!set {b}", "s.yaml:1:4: the tag !!set has no meaning in a study"),
        ("a: !!int many", "s.yaml:1:4: 'many' is not written as !!int is"),
        ("a: " + "1" * 5000, "s.yaml:1:4: a number with too many digits"),
        ("a: b: c", "s.yaml:1:5: not YAML: mapping values are not allowed here"),
        ("a: [1,\nb: 2\n", "s.yaml:3:1: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: *b", "s.yaml:1:4: not YAML: found undefined alias 'b'"),
        ("a: 1\n---\nb: 2\n", "s.yaml:2:1: not YAML: but found another document"),
        ("a: 1\nb: \x01\n", "s.yaml:2:4: the character U+0001 cannot stand in YAML"),
        ("", "s.yaml: the study is empty"),
        ("# nothing\n", "s.yaml: the study is empty"),
        ("a: " + "[" * 1500, "s.yaml:1:104: nested too deeply"),
        ("- " * 1500, "s.yaml: nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, message):
    assert refused(text) == message


def test_aliases_cannot_unfold_without_end():
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    assert refused("\n".join(levels)).endswith("the aliases stand for too many values")


def test_places_are_those_of_keys_and_values():
    origin = parse_document("name: a\nmodels:\n  - model: x\n    temperature: 3\n", "s.yaml", Path()).origin
    assert origin.at(("models", 0, "temperature")) == "s.yaml:4:18: models[0].temperature"
    assert origin.at(("models", 0, "top_p")) == "s.yaml:3:5: models[0].top_p"
    assert origin.at(()) == "s.yaml:1:1"
    assert str(origin.unknown_key(("models", 0), "temperature", ["temporal"])).startswith(
        "s.yaml:4:5: models[0]: unknown key"
    )


def test_files_may_begin_with_a_mark(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: \xc3\xa9\n")
    assert read_document(path).value == {"name": "é"}


def test_files_must_be_utf_8(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_bytes(b"name: a\ntask: \xe9t\xe9\n")
    wanted = f"{path}:2: byte 7 of the line (0xe9, é in Windows-1252) is not UTF-8; save the file as UTF-8, or: iconv -f WINDOWS-1252 -t UTF-8 s.yaml > utf8-s.yaml"
    assert complaint(lambda: read_document(path)) == wanted


def test_files_must_be_there(tmp_path):
    assert complaint(lambda: read_document(tmp_path / "s.yaml")) == f"{tmp_path / 's.yaml'}: no such file"
    assert complaint(lambda: read_document(tmp_path)) == f"{tmp_path}: this is a folder, not a file"


def test_numbers_with_a_point_keep_their_digits():
    text = "a: {b: [1, 0.10, '0.10', 1e3]}\nc: &c {d: 2.50}\ne: {<<: *c}\nf: 7"
    origin = parse_document(text, "s.yaml", Path()).origin
    assert origin.number_text(("a", "b", 1)) == "0.10"
    assert origin.number_text(("a", "b", 3)) == "1e3"
    assert origin.number_text(("e", "d")) == origin.number_text(("c", "d")) == "2.50"
    for route in [("a", "b", 0), ("a", "b", 2), ("f",), ("nowhere",)]:
        assert origin.number_text(route) is None
    assert origin.inside(("a",)).number_text(("b", 1)) == "0.10"


def test_a_part_of_a_study_speaks_of_the_whole():
    part = parse_document("stages:\n  - name: a\n    seed: 1\n", "s.yaml", Path()).origin.inside(("stages", 0))
    assert part.at(("seed",)) == "s.yaml:3:11: stages[0].seed"
    assert part.at(()) == "s.yaml:2:5: stages[0]"
    assert str(part.error((), "no")) == "s.yaml:2:5: stages[0]: no"
    assert str(part.key_error((), "seed", "no")) == "s.yaml:3:5: stages[0]: no"
    assert part.inside(("models", 1)).at(("key",)) == "s.yaml:2:5: stages[0].models[1].key"
