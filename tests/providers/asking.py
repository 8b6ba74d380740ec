"""Shorthands for questions and endpoints that the tests of this folder share."""

from pathlib import Path
from typing import Any

from overnight.core.ask import Arm, Ask, Message, Model, Options
from overnight.providers import Endpoint
from overnight.providers.openai.connection import connect
from overnight.providers.openai_api.connection import FileBatchConnection
from overnight.store.contract import StoredFile
from overnight.store.local import LocalStore

KEY = "sk-test-0123456789abcdef"


def model(name: str = "gpt-4.1", **options: Any) -> Model:
    return Model(provider="openai", name=name, options=Options(**options))


def ask(of: Model, *turns: tuple[str, str] | str, item: str = "item-1") -> Ask:
    """Turns are `"user text"` or `(role, text)`."""
    messages = tuple(Message("user", turn) if isinstance(turn, str) else Message(*turn) for turn in turns)
    arm = Arm(stage="s", name="arm", template="default", model=of)
    return Ask(arm=arm, item=item, messages=messages)


def stored(path: Path) -> StoredFile:
    """A file of a test, as a provider gets it."""
    return StoredFile(LocalStore(path.parent, files=(path.name,)), path.name)


def openai_at(base_url: str = "http://127.0.0.1:1/v1", key: str = KEY, **more: Any) -> FileBatchConnection:
    return connect(Endpoint(base_url=base_url, key=key), **more)
