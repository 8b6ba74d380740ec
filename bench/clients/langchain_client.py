"""LangChain's chat models of OpenAI, Anthropic and Google: whole, streamed, with a schema and with a tool."""

from __future__ import annotations

import os

from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from telling import manual, tell


@tool
def find_city(country: str) -> str:  # noqa: ARG001 - what it is told does not matter
    """Find a city."""
    return "Rome"


class Dog(BaseModel):
    """A dog."""

    name: str
    age: int


MODELS = {
    "openai": lambda: ChatOpenAI(model="gpt-4.1", api_key="any"),
    "openai_responses": lambda: ChatOpenAI(model="gpt-4.1", api_key="any", use_responses_api=True),
    "anthropic": lambda: ChatAnthropic(
        model="claude-haiku-4-5", api_key="any", base_url=os.environ["ANTHROPIC_BASE_URL"], max_tokens=500
    ),
    "google": lambda: ChatGoogleGenerativeAI(
        model="gemini-2.5-flash", api_key="any", base_url=os.environ["GOOGLE_GEMINI_BASE_URL"]
    ),
}


def deeds(name: str):
    def whole() -> str:
        said = MODELS[name]().invoke("Tell me of a lake.").text
        text = said() if callable(said) else said
        assert "lake" in text, text
        return f"{len(text)} characters"

    def streamed() -> str:
        parts = list(MODELS[name]().stream("Tell me of a lake."))
        assert len(parts) > 2
        return f"{len(parts)} pieces"

    def tools() -> str:
        bound = MODELS[name]().bind_tools([find_city], tool_choice="any")
        (call,) = bound.invoke("Hello?").tool_calls
        assert call["name"] == "find_city"
        assert isinstance(call["args"]["country"], str)
        return call["name"]

    def schema() -> str:
        dog = MODELS[name]().with_structured_output(Dog).invoke("A dog.")
        assert isinstance(dog.age, int)
        return repr(dog)[:60]

    return {f"{name}_{deed.__name__}": deed for deed in (whole, streamed, tools, schema)}


every = {name: deed for model in MODELS for name, deed in deeds(model).items()}
tell("langchain-core", **every, manual=manual("langchain"))
