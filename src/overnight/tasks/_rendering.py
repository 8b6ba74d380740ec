"""Prompts of many items at once, column by column."""

from collections.abc import Sequence

from overnight.core.ask import Item, Message
from overnight.core.errors import StudyError
from overnight.core.template import Template


def rendered(template: Template, items: Sequence[Item]) -> list[str]:
    """The template's text for each item; StudyError for one that it says nothing of."""
    texts = template.render_all([item.fields for item in items])
    if not all(texts) or any(map(str.isspace, texts)):
        item = next(item for item, text in zip(items, texts, strict=True) if not text or text.isspace())
        raise StudyError(f"item '{item.id}': template '{template.name}' comes out empty")
    return texts


def with_instructions(
    system: Template, items: Sequence[Item], asked: Sequence[tuple[Message, ...]]
) -> list[tuple[Message, ...]]:
    """The messages of each item behind what the system message says of it; nothing where that is empty."""
    found = []
    for item, instruction, messages in zip(
        items, system.render_all([item.fields for item in items]), asked, strict=True
    ):
        if instruction and messages[0].role == "system":
            raise StudyError(f"item '{item.id}' has a system message of its own; leave out `system`")
        found.append((Message("system", instruction), *messages) if instruction else messages)
    return found
