"""What is wrong with a command line, in one line, with the nearest that would be right."""

from collections.abc import Iterable
from typing import Literal, get_args, get_origin

from cyclopts import App
from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from overnight.core.errors import nearest

_KINDS: dict[type | None, str] = {int: "a whole number", float: "a number"}


def sentence(error: CycloptsError, app: App) -> str:
    """The parser's complaint in our words; each says how to see what is possible."""
    verb = " ".join(error.command_chain or ())
    where = f"{verb}: " if verb else ""
    see = f"overnight {verb} --help".replace("  ", " ")
    return f"{where}{_problem(error, app)} (see {see})"


def _problem(error: CycloptsError, app: App) -> str:
    match error:
        case UnknownCommandError():
            name = (error.unused_tokens or [""])[0]
            kind = "option" if name.startswith("-") else "command"
            return f"no {kind} '{name}'{nearest(name, app)}"
        case UnknownOptionError():
            name = (error.token.keyword or error.token.value).partition("=")[0]
            return f"no option '{name}'{nearest(name, _options(error))}"
        case UnusedCliTokensError():
            return f"one argument too many: '{(error.unused_tokens or [''])[0]}'"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice"
        case MissingArgumentError():
            return _missing(error)
        case ValidationError():
            return f"{_name(error)}: {error.exception_message}"
        case CoercionError():
            return _misfit(error)
        case _:
            return str(error)


def _options(error: UnknownOptionError) -> Iterable[str]:
    return [name for argument in error.argument_collection for name in argument.names if name.startswith("--")]


def _missing(error: MissingArgumentError) -> str:
    return f"{error.keyword} needs a value" if error.keyword else f"{_name(error)} is missing"


def _misfit(error: CoercionError) -> str:
    """A value of the wrong kind, or one that is not among the choices."""
    found = error.token.value if error.token is not None else ""
    if get_origin(error.target_type) is Literal:
        choices = get_args(error.target_type)
        return f"{_name(error)}: '{found}' is not one of {', '.join(choices)}{nearest(found, choices)}"
    return f"{_name(error)}: '{found}' is not {_KINDS.get(error.target_type, 'what is wanted here')}"


def _name(error: CycloptsError) -> str:
    """An option as it is typed; an argument as the help calls it."""
    argument = error.argument
    if argument is None:
        return "a value"
    return argument.name if argument.name.startswith("-") else argument.name.upper()
