"""The command line as a whole: every verb under its heading, each with its help page."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from importlib.abc import InspectLoader
from importlib.util import find_spec
from typing import Any

from cyclopts import App, Group

from overnight import __version__
from overnight.cli import (
    completion,
    deciding,
    emulating,
    looking,
    moving,
    planning,
    reporting,
    sending,
    serving,
    verifying,
)
from overnight.cli.help_page import HelpPage
from overnight.core.plugins import points_of
from overnight.core.task import ENTRY_POINT
from overnight.terminal.parameters import Parameter

_ABOUT = """\
Language-model evaluations in bulk, through half-price batch APIs.

Nothing is lost, and nothing is paid twice: whatever stops a command, the same command again goes on.
"""
_EPILOGUE = """\
`overnight COMMAND --help` tells more about a command.

New here? This costs nothing and needs no key:
  overnight run study.yaml --emulate
"""
_EXAMPLES = "\nExamples:\n"
_EXAMPLE_WIDTH = 78

RUN = Group("Run", sort_key=1)
LOOK = Group("Look", sort_key=2)
MEND = Group("Mend", sort_key=3)
TOOLS = Group("Tools", sort_key=4)

# What the parser cannot see of the order and number of arguments.
_USAGES = {
    "resume": "overnight resume [OPTIONS] [RUN]",
    "status": "overnight status [OPTIONS] [RUN|BATCH_ID]",
    "watch": "overnight watch [OPTIONS] [RUN|BATCH_ID]",
    "submit": "overnight submit [OPTIONS] STUDY...",
    "models": "overnight models [OPTIONS] [TEXT]",
    "adopt": "overnight adopt [OPTIONS] [PROVIDER] [BATCH_ID]",
}

Verb = Callable[..., int]
# Puts a verb among an app's commands, at its place on the help page.
Add = Callable[[App, int], None]

_VERBS: tuple[tuple[Group, tuple[Verb, ...]], ...] = (
    (RUN, (sending.run, planning.plan, sending.submit, sending.resume)),
    (LOOK, (looking.status, looking.watch, looking.results, reporting.report, looking.costs, serving.serve)),
    (MEND, (deciding.cancel, deciding.adopt, deciding.resolve, deciding.rebuild, verifying.verify)),
    (TOOLS, (moving.pull, moving.push, moving.team, looking.models, looking.keys, completion.completion)),
)
# Known by name only: they load what `--help` need not.
_TASK_COMMANDS = "overnight.cli.task_commands"
_LATE_VERBS = ((TOOLS, "overnight.cli.rank_pairs", "rank_pairs"),)


def build(named: str | None = None) -> App:
    """Every verb with its page; or, where it is known which one is asked for, that one alone."""
    app = _empty()
    verbs = list(_verbs())
    for place, (name, add) in enumerate(verbs):
        if named in (None, name) or all(named != other for other, _ in verbs):
            add(app, place)
    return app


def _empty() -> App:
    app = App(
        name="overnight",
        help=unwrapped(_ABOUT),
        help_epilogue=_EPILOGUE,
        version=f"overnight {__version__}",
        help_format="plaintext",
        help_formatter=HelpPage(),
        default_parameter=Parameter(negative=(), show_default=False, show_choices=False, show_env_var=False),
        group_commands=Group("Options", sort_key=9),
        group_arguments=Group("Arguments", sort_key=1),
        group_parameters=Group("Options", sort_key=2),
        suppress_keyboard_interrupt=False,
    )
    app["--help"].help = "Show this page."
    app["--version"].help = "Show the version."
    return app


def _verbs() -> Iterator[tuple[str, Add]]:
    """Each verb's name, and what puts it among the commands, in the order of the help page."""
    for group, verbs in _VERBS:
        for verb in verbs:
            yield verb.__name__, partial(_add_verb, group, verb)
        if group is RUN:
            for task in sorted(points_of(ENTRY_POINT), key=lambda one: one.name):
                yield task.name, partial(_add_late, RUN, _TASK_COMMANDS, task.name, task.module, "Flags")
    for group, module, name in _LATE_VERBS:
        yield name.replace("_", "-"), partial(_add_late, group, module, name, module, name)
    yield "emulator", _add_emulator


def _add_verb(group: Group, verb: Verb, app: App, place: int) -> None:
    app.command(verb, sort_key=place, **_page(group, verb.__name__, verb.__doc__))


def _add_late(group: Group, module: str, name: str, source: str, described: str, app: App, place: int) -> None:
    """A verb that is known by name. Its help is read where it is written; nothing of it is loaded for it."""
    docstring = _written_docstring(source, described)
    if docstring is not None:
        page = _page(group, name, docstring)
        app.command(f"{module}:{name}", name=name.replace("_", "-"), sort_key=place, **page)


def _add_emulator(app: App, place: int) -> None:
    # Its own parser answers --help.
    app.command(emulating.emulator, group=TOOLS, sort_key=place, help_flags=(), version_flags=())


def _page(group: Group, name: str, docstring: str | None) -> dict[str, Any]:
    """A verb's docstring is its help page: what it is for, then examples."""
    about, _, examples = inspect.cleandoc(docstring or "").partition(_EXAMPLES)
    return {
        "group": group,
        "help": unwrapped(about),
        "help_epilogue": _EXAMPLES.lstrip() + "\n".join(folded(line) for line in examples.splitlines()),
        "usage": _USAGES.get(name),
    }


def _written_docstring(module: str, name: str) -> str | None:
    """The docstring as it stands in the source, which is read and not run; None when there is no such module."""
    spec = find_spec(module)
    if spec is None or not isinstance(spec.loader, InspectLoader):
        return None
    tree = ast.parse(spec.loader.get_source(module) or "")
    written = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    found = next((node for node in written if node.name == name), None)
    return None if found is None else ast.get_docstring(found)


def unwrapped(text: str) -> str:
    """Paragraphs as single lines: the help page breaks them where the reader's terminal ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def folded(command: str) -> str:
    """A long example as a shell takes it on several lines."""
    lines = textwrap.wrap(command, _EXAMPLE_WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return " \\\n".join(lines)
