"""Simon Willison's `llm`: OpenAI's models through a base URL, streamed and whole, and a tool."""

from __future__ import annotations

import os

import llm
from llm.default_plugins.openai_models import Chat
from telling import tell


def model() -> Chat:
    made = Chat("gpt-4.1", api_base=os.environ["OPENAI_BASE_URL"], supports_tools=True, supports_schema=True)
    made.key = "any"
    return made


def whole() -> str:
    text = model().prompt("Tell me of a lake.", stream=False).text()
    assert "lake" in text, text
    return f"{len(text)} characters"


def streamed() -> str:
    parts = list(model().prompt("Tell me of a lake.", stream=True))
    assert "lake" in "".join(parts)
    return f"{len(parts)} pieces"


def schema() -> str:
    said = model().prompt("A dog.", schema=llm.schema_dsl("name, age int"), stream=False).text()
    assert '"age"' in said, said
    return said[:60]


def tool() -> str:
    called: list[str] = []

    def find_city(country: str) -> str:
        """Find a city."""
        called.append(country)
        return "Rome and its hills"

    text = model().chain("Use find_city now.", tools=[find_city], stream=False).text()
    assert called, text
    assert "hills" in text
    return f"called with {called[0][:30]!r}"


tell("llm", whole=whole, streamed=streamed, schema=schema, tool=tool)
