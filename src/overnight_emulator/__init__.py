"""A local server that speaks the language-model providers' batch and live APIs, and can be told to misbehave.

It stands alone: it imports nothing from the product beside it, and the vendors' official SDKs are its proof.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process when none are given); the exit code."""
    # Imported late: whoever imports the package for its types does not pay for a web server.
    from overnight_emulator.command import main as run  # noqa: PLC0415

    return run(argv)
