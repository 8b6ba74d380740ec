from collections.abc import Iterator

import pytest

from overnight.core.errors import StudyError, UnknownName
from overnight.pairwise import (
    build_prompt,
    get_prompt_template,
    list_prompt_templates,
    register_prompt_template,
    remove_prompt_template,
    set_prompt_template,
    trait_description,
)

MINE = "{TRAIT_NAME}: {TRAIT_DESCRIPTION}\n{SAMPLE_1}\n{SAMPLE_2}\n<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>"
BUILTIN = ["default", "examiner", "gaps", "impartial", "short", "steps"]


@pytest.fixture
def mine() -> Iterator[str]:
    register_prompt_template("mine", MINE)
    yield "mine"
    remove_prompt_template("mine", quiet=True)


def test_the_templates_there_are(mine):
    assert list_prompt_templates() == sorted([*BUILTIN, mine])
    assert list_prompt_templates(include_registered=False) == BUILTIN
    assert list_prompt_templates(include_builtin=False) == [mine]
    assert get_prompt_template(mine) == MINE


@pytest.mark.parametrize("name", BUILTIN)
def test_each_is_whole(name):
    text = get_prompt_template(name)
    assert set_prompt_template(text) == text
    assert "<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>" in text
    assert set_prompt_template() == get_prompt_template("default")


def test_names_are_not_taken_twice(mine, tmp_path):
    with pytest.raises(StudyError, match="'mine' is registered already; overwrite=True replaces it"):
        register_prompt_template(mine, MINE)
    (tmp_path / "t.txt").write_text("new " + MINE)
    assert register_prompt_template(mine, file=tmp_path / "t.txt", overwrite=True).startswith("new ")
    with pytest.raises(StudyError, match="'short' comes with Overnight; choose another"):
        register_prompt_template("short", MINE)
    assert remove_prompt_template(mine)
    with pytest.raises(UnknownName, match="no template 'mine' is registered"):
        remove_prompt_template(mine)
    with pytest.raises(StudyError, match="cannot be removed"):
        remove_prompt_template("default")


def test_what_is_no_template(tmp_path):
    with pytest.raises(StudyError, match=r"\{TRAIT_DESCRIPTION\}, \{SAMPLE_2\} must stand in it"):
        set_prompt_template("{TRAIT_NAME} {SAMPLE_1}")
    with pytest.raises(StudyError, match="there is no such file"):
        set_prompt_template(file=tmp_path / "nope.txt")
    with pytest.raises(UnknownName, match="unknown template 'defualt'; did you mean 'default'"):
        get_prompt_template("defualt")


def test_placeholders_in_a_text_stay_as_they_are():
    prompt = build_prompt(MINE, "Name", "{SAMPLE_1}", "{SAMPLE_2} {TRAIT_NAME}", "second")
    assert prompt.splitlines()[:3] == ["Name: {SAMPLE_1}", "{SAMPLE_2} {TRAIT_NAME}", "second"]


def test_traits():
    assert trait_description("organization").name == "Organization"
    assert trait_description(custom_name="Warmth", custom_description="How warm.") == ("Warmth", "How warm.")
    with pytest.raises(UnknownName, match="unknown trait 'organisation'; did you mean 'organization'"):
        trait_description("organisation")
