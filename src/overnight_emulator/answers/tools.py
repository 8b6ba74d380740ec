"""Tools: what a request offers a model to call, whether it must, and what the model calls."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

Choice = Literal["auto", "none", "any"]
_WORDS = re.compile(r"[\W_]+")


class Tool(msgspec.Struct, frozen=True):
    """A tool takes arguments of its schema; one that `takes_text` takes any text instead."""

    name: str
    schema: Any = None
    takes_text: bool = False


class Offer(msgspec.Struct, frozen=True):
    """The tools of a request. With `any` one of them is called whatever is said."""

    tools: tuple[Tool, ...] = ()
    choice: Choice = "auto"

    def chosen(self, said: str, *, answered: bool, eager: bool) -> Tool | None:
        """The tool that is called: the first that is named in what was said, or the first of all where one must be.

        Left to itself a model calls what is named, or, if it is `eager`, anything; and nothing once it was `answered`.
        """
        if self.choice == "none" or not self.tools:
            return None
        if self.choice == "auto" and answered:
            return None
        words = f" {_WORDS.sub(' ', said).lower()} "
        named = next((tool for tool in self.tools if f" {_WORDS.sub(' ', tool.name).lower()} " in words), None)
        if named is not None:
            return named
        return self.tools[0] if self.choice == "any" or eager else None

    def find(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)


NO_TOOLS = Offer()


class Call(msgspec.Struct, frozen=True):
    """One call: `arguments` is an object, or the text of a tool that takes one. `mark` tells it from all others."""

    name: str
    arguments: Any
    mark: str

    @property
    def written(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else msgspec.json.encode(self.arguments).decode()
