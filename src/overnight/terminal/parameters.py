"""What a flag is told of itself, for the parser of either generation.

`metavar`, the word for a value on a help page, came with cyclopts 5; under 4, which other packages hold people to,
the pages go without it.
"""

from inspect import signature
from typing import Any

import cyclopts

_UNKNOWN = {"metavar"} - set(signature(cyclopts.Parameter).parameters)


def Parameter(**settings: Any) -> cyclopts.Parameter:  # noqa: N802 - stands for the class of that name
    return cyclopts.Parameter(**{name: value for name, value in settings.items() if name not in _UNKNOWN})
