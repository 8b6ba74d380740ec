"""A task from flags, without a study file: one command for each task that brings flags of its own.

`overnight.cli.task_commands:NAME` is the command of the task NAME: it is made when it is typed, so that no task is
loaded for any other command.
"""

from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any

import overnight
from overnight.cli.asking import Asking, IdColumn, Models, SomeModels, run_name
from overnight.cli.flags import TrustFlags
from overnight.cli.sending import SendFlags, send
from overnight.core.errors import StudyError
from overnight.study.task_kind import Exports, NamesModels, TaskKind
from overnight.study.task_registry import task_kind, task_names
from overnight.terminal.parameters import Parameter

Verb = Callable[..., int]


def __getattr__(name: str) -> Verb:
    if name not in task_names():
        raise AttributeError(name)
    return command_of(task_kind(name))


def command_of(kind: TaskKind) -> Verb:
    """The function behind `overnight NAME`: its parameters are the items, the task's own flags, and what all share."""
    command = kind.command
    if command is None:
        raise AttributeError(f"the task {kind.name} has no command")
    place = Argument.POSITIONAL_ONLY if command.positional else Argument.KEYWORD_ONLY
    items = Annotated[Path, Parameter(help=command.items_help, metavar="FILE")]
    name = Annotated[str | None, Parameter(help=f"Name of the run; default: {command.named}.", metavar="NAME")]

    table = Argument(command.items_name, place, annotation=items)
    if command.optional:
        table = _flag(
            command.items_name, Annotated[Path | None, Parameter(help=command.items_help, metavar="FILE")], None
        )
    parameters = Signature(
        [
            *([] if command.items_help is None else [table]),
            _flag("model", SomeModels if command.optional else Models, None if command.optional else Argument.empty),
            _flag("own", command.flags, command.flags()),
            _flag("name", name, None),
            *([] if command.items_help is None else [_flag("id_column", IdColumn, None)]),
            _flag("asking", Asking, Asking()),
            _flag("sending", SendFlags, SendFlags()),
            _flag("flags", TrustFlags, TrustFlags()),
        ],
        return_annotation=int,
    )

    def verb(*given: Any, **flags: Any) -> int:
        # The parser hands over what was typed, and leaves the rest to the function.
        typed = parameters.bind(*given, **flags)
        typed.apply_defaults()
        found = dict(typed.arguments)
        table = None if command.items_help is None else found.pop(command.items_name)
        return _send(kind.name, table, **found)

    verb.__name__ = kind.name
    verb.__doc__ = command.flags.__doc__
    verb.__signature__ = parameters  # type: ignore[attr-defined]
    return verb


def _flag(name: str, kind: Any, default: Any) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, annotation=kind, default=default)


def _send(
    task: str,
    items: Path | None,
    *,
    model: list[str] | None,
    own: Any,
    name: str | None,
    asking: Asking,
    sending: SendFlags,
    flags: TrustFlags,
    id_column: str | None = None,
) -> int:
    keys = own.keys()
    models = [asking.entry(one) for one in model or ()]
    if isinstance(own, NamesModels):
        models += [one | asking.entry(one["model"]) for one in own.models()]
    if not models:
        raise StudyError(f"{task}: --model is missing: who is asked")
    written = {
        "task": task,
        "items": None if items is None else str(items),
        "id": id_column,
        "models": models,
        "empty": asking.empty,
        "system": asking.system,
        "replicates": asking.replicates,
        **keys,
        "name": name or keys.get("name") or run_name(task, items or Path("items")),
    }
    # What is not given is not written: a study tells an absent key from an empty one.
    given = {key: value for key, value in written.items() if value is not None}
    study = overnight.Study.from_mapping(given, task)
    return send(study, sending, flags, own.export if isinstance(own, Exports) else None)
