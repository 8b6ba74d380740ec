import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.errors import StudyError
from overnight.core.template import Template, columns_text, text_of

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
# Text in which braces, names and placeholders are likely.
tricky = st.lists(
    st.one_of(
        st.sampled_from(["{", "}", "{}", "{a}", "{{a}}", "{ a }", '{"a": 1}', "{1}", "a", "\\", "%s"]), st.text()
    ),
    max_size=8,
).map("".join)


def test_names_are_listed_once_in_order_of_appearance():
    assert Template("{b} {a} {b}").names == ("b", "a")


@pytest.mark.parametrize(
    "text", ["{}", "{ x }", '{"json": 1}', "{1}", "{a-b}", "{", "}", "{x", "x}", "{x y}", "{x.y}", "{0x}"]
)
def test_other_braces_are_literal(text):
    template = Template(text)
    assert template.names == ()
    assert template.render({}) == text


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{x}", "1"),
        ("{{x}}", "{1}"),
        ("{{{x}}}", "{{1}}"),
        ('{"q": {x}}', '{"q": 1}'),
        ("{ {x}", "{ 1"),
        ("a{x}b{x}c", "a1b1c"),
        ("%s {x} $x", "%s 1 $x"),
    ],
)
def test_a_place_is_filled_wherever_it_stands(text, rendered):
    assert Template(text).render({"x": "1"}) == rendered


@pytest.mark.parametrize("name", ["é", "नाम", "名前", "_", "class", "x1"])
def test_any_identifier_can_be_a_place(name):
    assert Template("<{" + name + "}>").render({name: "v"}) == "<v>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("a", "a"),
        ("", ""),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (["é", 1, None], '["é",1,null]'),
        ({"a": {"b": [True]}}, '{"a":{"b":[true]}}'),
        ((1, 2), "[1,2]"),
    ],
)
def test_values_become_text(value, text):
    assert text_of(value) == text
    assert Template("{v}").render({"v": value}) == text


@settings(deadline=None)
@given(parts=st.lists(st.tuples(tricky, names), max_size=5), fields=st.dictionaries(names, tricky))
def test_rendering_is_one_pass(parts, fields):
    """Literals that hold no place, and values that may hold anything, come out exactly as they went in."""
    literal = [text.replace("{", "(").replace("}", ")") for text, _ in parts]
    wanted = [name for _, name in parts]
    values = {name: fields.get(name, "{" + name + "}") for name in wanted}
    template = Template("".join(text + "{" + name + "}" for text, name in zip(literal, wanted, strict=True)))
    expected = "".join(text + values[name] for text, name in zip(literal, wanted, strict=True))
    assert template.render(values) == expected
    assert template.names == tuple(dict.fromkeys(wanted))


@settings(deadline=None)
@given(text=tricky)
def test_a_template_of_its_own_places_is_unchanged(text):
    template = Template(text)
    assert all(name.isidentifier() for name in template.names)
    assert template.render({name: "{" + name + "}" for name in template.names}) == text


def test_a_missing_column_is_named_with_those_there_are():
    message = "template 'mine' asks for {txt}, which is no column of the items; the columns are ID, text; did you mean 'text'?"
    template = Template("{ID} {txt}", "mine")
    assert template.missing(["ID", "text"]) == message
    assert template.missing(["ID", "txt"]) is None
    with pytest.raises(StudyError) as caught:
        template.render({"ID": 1, "text": 2})
    assert str(caught.value) == message


def test_capitals_are_the_nearest_mistake():
    missing = Template("{TEXT}").missing(["texts", "Text"])
    assert missing is not None
    assert missing.endswith("did you mean 'Text'?")


def test_a_wide_table_shows_its_first_columns():
    columns = [f"c{number}" for number in range(14)]
    assert columns_text(columns) == "the columns are c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 2 more"
    assert repr(Template("x", "mine")) == "Template('mine')"


@given(
    text=tricky,
    rows=st.lists(
        st.fixed_dictionaries({"a": tricky | st.none() | st.integers()}, optional={"x": st.text()}), max_size=6
    ),
)
def test_many_items_come_out_as_each_by_itself(text, rows):
    template = Template(text + "{a}")
    assert template.render_all(rows) == [template.render(fields) for fields in rows]


def test_of_many_items_the_one_that_lacks_a_column_is_told():
    template = Template("{a} {b}")
    with pytest.raises(StudyError, match=r"asks for \{b\}, which is no column of the items; the columns are a$"):
        template.render_all([{"a": 1, "b": 2}, {"a": 1}])
