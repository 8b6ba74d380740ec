"""Any text, made fit for one line of a terminal or a log."""

_ELLIPSIS = "…"


def one_line(text: str) -> str:
    """No breaks, no control characters, nothing invisible: what a model answered must not steer a terminal."""
    visible = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(visible.split())


def visible(text: str) -> str:
    """The same for text of several lines. What has no width leaves no gap, so that columns stay where they are."""
    return "".join(character for character in text if character.isprintable() or character == "\n")


def shortened(text: str, width: int) -> str:
    """At most so many characters; what is cut is cut at the end."""
    if len(text) <= width:
        return text
    return text[: width - 1] + _ELLIPSIS if width > 0 else ""
