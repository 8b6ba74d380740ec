"""The command line as a whole: every verb under its heading, each with its help page."""

import inspect
from collections.abc import Callable
from importlib.util import find_spec
from itertools import count

from cyclopts import App, Group, Parameter

from overnight import __version__
from overnight.cli import deciding, emulating, generating, looking, planning, sending
from overnight.cli.help_page import HelpPage

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
    "adopt": "overnight adopt [OPTIONS] [PROVIDER] [BATCH_ID]",
}

Verb = Callable[..., int]

_VERBS: tuple[tuple[Group, tuple[Verb, ...]], ...] = (
    (RUN, (sending.run, planning.plan, sending.submit, sending.resume, generating.generate)),
    (LOOK, (looking.status, looking.watch, looking.results)),
    (MEND, (deciding.cancel, deciding.adopt, deciding.resolve, deciding.rebuild)),
    (TOOLS, (looking.keys,)),
)
_RANK_PAIRS = """\
Rank things from verdicts on pairs of them, made anywhere.

Reads a CSV, TSV, JSON lines or Parquet file of comparisons and prints strengths with their errors.
"""


def build() -> App:
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
    order = count()
    for group, verbs in _VERBS:
        for verb in verbs:
            about, _, examples = inspect.cleandoc(verb.__doc__ or "").partition(_EXAMPLES)
            epilogue = _EXAMPLES.lstrip() + examples
            app.command(
                verb,
                group=group,
                sort_key=next(order),
                help=unwrapped(about),
                help_epilogue=epilogue,
                usage=_USAGES.get(verb.__name__),
            )
    if find_spec("overnight.cli.rank_pairs") is not None:
        where = "overnight.cli.rank_pairs:rank_pairs"
        app.command(where, name="rank-pairs", group=TOOLS, sort_key=next(order), help=unwrapped(_RANK_PAIRS))
    # Its own parser answers --help.
    app.command(emulating.emulator, group=TOOLS, sort_key=next(order), help_flags=(), version_flags=())
    return app


def unwrapped(text: str) -> str:
    """Paragraphs as single lines: the help page breaks them where the reader's terminal ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
