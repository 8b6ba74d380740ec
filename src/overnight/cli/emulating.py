"""`emulator`: the built-in emulator as a server of its own."""

from importlib import import_module
from typing import Annotated

from overnight.terminal.parameters import Parameter


def emulator(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True, help="Its own options.")]) -> int:
    """Serve the providers' APIs locally, with simulated models.

    The official SDKs can be pointed at it; `--help` shows its options.
    """
    # By name: the product and the emulator do not import each other.
    code: int = import_module("overnight_emulator").main(arguments)
    return code
