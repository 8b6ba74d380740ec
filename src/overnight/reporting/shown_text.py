"""Texts from anywhere, made fit for a page: escaped, and nothing in them invisible or able to steer the reader."""

from collections.abc import Container
from html import escape
from itertools import chain, count

# Marks that turn the direction of the text around them; with these, an answer could show what it does not say.
_TURNING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
_ZERO_WIDTH = {0x200B, 0x2060, 0xFEFF, 0x00AD, 0x2028, 0x2029}
_CUT = " \u2026"


def plain(text: str) -> str:
    """Control characters become their pictures, marks that turn text their numbers, halves of characters a box."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_plain, text))


def _plain(character: str) -> str:
    code = ord(character)
    if character in "\n\t" or (code >= 0x20 and character.isprintable()):
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    if code < 0xA0 or code in _TURNING or code in _ZERO_WIDTH or (0xFFFE & code) == 0xFFFE:
        return f"[U+{code:04X}]"
    return character


def escaped(text: str) -> str:
    """For a page or a drawing: between tags, and inside quotes."""
    return escape(plain(text), quote=True)


def cut(text: str, most: int) -> str:
    """At most so many characters, with a mark where some are left out."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def free_name(plain_name: str, taken: Container[str]) -> str:
    """The name itself, or with the first number from two on that makes it another than all that are taken."""
    return next(name for name in chain((plain_name,), (f"{plain_name}-{n}" for n in count(2))) if name not in taken)
