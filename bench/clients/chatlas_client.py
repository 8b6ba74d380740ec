"""chatlas: chats streamed and whole, a tool, and its resumable batches, with OpenAI's and Anthropic's models."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from chatlas import ChatAnthropic, ChatGoogle, ChatOpenAI, batch_chat_text
from telling import tell

CHATS = {
    "openai": lambda: ChatOpenAI(model="gpt-4.1", api_key="any", base_url=os.environ["OPENAI_BASE_URL"]),
    "anthropic": lambda: ChatAnthropic(model="claude-haiku-4-5", api_key="any"),
    "google": lambda: ChatGoogle(
        model="gemini-2.5-flash",
        api_key="any",
        kwargs={"http_options": {"base_url": os.environ["GOOGLE_GEMINI_BASE_URL"]}},
    ),
}


def deeds(name: str):
    def streamed() -> str:
        parts = list(CHATS[name]().stream("Tell me of a lake."))
        assert "lake" in "".join(parts)
        return f"{len(parts)} pieces"

    def tool() -> str:
        called = []

        def find_city(country: str) -> str:
            """Find a city."""
            called.append(country)
            return "Rome and its hills"

        chat = CHATS[name]()
        chat.register_tool(find_city)
        text = str(chat.chat("Use find_city.", echo="none"))
        assert called
        assert "hills" in text, text
        return "called"

    return {f"{name}_{deed.__name__}": deed for deed in (streamed, tool)}


def batch(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        prompts = [f"Row {n}?" for n in range(12)]
        texts = batch_chat_text(CHATS[name](), prompts, Path(folder) / "state.json")
    right = sum(f"Row {n}" in (text or "") for n, text in enumerate(texts))
    assert right == 12, f"{right} of 12 right"
    return "12 of 12 rows right"


tell(
    "chatlas",
    **{key: deed for name in CHATS for key, deed in deeds(name).items()},
    openai_batch=lambda: batch("openai"),
    anthropic_batch=lambda: batch("anthropic"),
)
