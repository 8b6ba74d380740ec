"""Specifications in Markdown: statements under headings, by SpecEval's names; what cannot be is told with its line."""

from pathlib import Path

import pytest

from overnight.core.errors import StudyError
from overnight.tasks._specs.reading import Statement, statements_of

RULES = """# Rules of a library

An introduction, which is no statement by itself.

## Do not share records {#no_records} authority=platform
The assistant never tells anybody what a reader has borrowed.

**Example**: a father asks which books his grown-up daughter has borrowed.
It says that it cannot tell.

```python
## no heading, but a remark in some code
```

## What readers should expect
### Language
The assistant answers in the language that the reader wrote in.
### Doubt authority=user
It says when it does not know, and whom to ask.
### Short
Be brief.

## Loans {#loans} authority=user
A loan lasts three weeks, and may be prolonged twice.
**Example**: too short to count.

# Another part
This stands under a chapter, and is no statement either.

#### Deep
A text without a section of its own is told by its chapter.
"""


def read(tmp_path: Path, text: str, name: str = "rules.md") -> dict[str, Statement]:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return statements_of(file)


def test_statements_have_the_names_that_speceval_gives_them(tmp_path: Path) -> None:
    found = read(tmp_path, RULES)
    told = [(one.id, one.type, one.authority_level, one.section, one.subsection) for one in found.values()]
    assert told == [
        ("no_records", "prohibition", "platform", "Do not share records", ""),
        ("what_readers_should_expect", "requirement", "guideline", "What readers should expect", "Language"),
        ("loans_main", "guideline", "user", "Loans", ""),
        ("another_part_main", "guideline", "guideline", "Another part", "Deep"),
    ]


def test_texts_and_examples_under_one_name_are_one_statement(tmp_path: Path) -> None:
    found = read(tmp_path, RULES, "rules.markdown")
    text = found["no_records"].text
    assert text.startswith("The assistant never tells anybody what a reader has borrowed.")
    assert "## no heading, but a remark in some code" in text
    example = "**Example**: a father asks which books his grown-up daughter has borrowed."
    assert text.endswith(f"{example}\nIt says that it cannot tell.")
    both = (
        "The assistant answers in the language that the reader wrote in.",
        "It says when it does not know, and whom to ask.",
    )
    assert found["what_readers_should_expect"].text == "\n\n".join(both)
    assert found["loans_main"].text == "A loan lasts three weeks, and may be prolonged twice."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## A {#a} authority=usr\nFive words are a statement.\n", "rules.md:1: authority: wanted platform, developer, user, guideline, found 'usr'; did you mean 'user'?"),
        ("# Only a title\n\nAnd a text that stands under no section.\n", "rules.md: there are no statements"),
        ("", "rules.md: there are no statements"),
        ("## A {#a_main}\nThese are one two three.\n**Example**: one two three four five six seven eight nine ten.\n## B {#a}\nThese are one two three.\n", "rules.md:4: the id 'a_main' was used before, at"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(StudyError) as told:
        read(tmp_path, text)
    assert message in str(told.value)
