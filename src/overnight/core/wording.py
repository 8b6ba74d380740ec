"""Numbers of things, and values that were found, as one says them."""

from typing import Any

# A word that is longer is none: paths may be long, and most names of models and addresses are not.
_LONGEST_WORD = 300
# A value is quoted in a message up to this length.
_SHOWN = 40
# Longer whole numbers are not spelled out: Python refuses to, from some thousand digits on.
_WIDEST = 128


def number_of(count: int, one: str, many: str | None = None) -> str:
    """`1 batch`, `3 batches`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def found_text(value: Any) -> str:
    """What was found, in the words of the file."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > _WIDEST:
            return "a whole number of many digits"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text '{printable(value[:_SHOWN])}{'...' if len(value) > _SHOWN else ''}'"
        case list() | tuple():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return f"a {type(value).__name__}"


def quoted(text: str) -> str:
    """Somebody's words inside a message of ours: on one line, and not too long."""
    return f"'{printable(text[:_SHOWN])}{'...' if len(text) > _SHOWN else ''}'"


def in_one_line(text: str) -> str:
    """A message of ours that holds words of others, of which none goes on for ever."""
    if len(text) <= _LONGEST_WORD and text.isprintable():
        return text
    words = printable(text.strip()).split(" ")
    return " ".join(f"{word[:_SHOWN]}..." if len(word) > _LONGEST_WORD else word for word in words)


def printable(text: str) -> str:
    """Line breaks, terminal controls and halves of characters as one would type them."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def cancelled_words(batch_id: str | None) -> str:
    """Why rows wait whose batch somebody has cancelled, and what lets them go on."""
    began = "type again what began the run (overnight run, submit or adopt)"
    return f"batch {batch_id} was cancelled; to ask its rows again, {began}"
