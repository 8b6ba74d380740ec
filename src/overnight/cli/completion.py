"""`completion`: scripts by which a shell completes commands, options, files and the names of runs.

They are written from the commands themselves, and ask nobody when the key is pressed: runs are found by their ledgers.
"""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args

from overnight.cli.flags import Voice
from overnight.terminal.parameters import Parameter

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

Shell = Literal["bash", "zsh", "fish"]

# Commands whose first argument is a run.
_OF_RUNS = ("resume", "status", "watch", "results", "costs", "cancel", "resolve", "rebuild", "verify", "pull", "push")


class Command(NamedTuple):
    """What can follow a command: flags, and options with a value."""

    name: str
    about: str
    flags: tuple[str, ...]
    valued: tuple[str, ...]


def completion(
    shell: Annotated[Shell, Parameter(help="bash, zsh or fish.", metavar="SHELL")],
    /,
    *,
    voice: Voice = Voice(),  # noqa: B008 - frozen
) -> int:
    """Print a script by which a shell completes what is typed.

    It completes commands, options, files and the names of runs. Put it where the shell looks for it, and begin a
    new shell.

    Examples:
      overnight completion bash > ~/.local/share/bash-completion/completions/overnight
      overnight completion zsh >> ~/.zshrc
      overnight completion fish > ~/.config/fish/completions/overnight.fish
    """
    # Imported late: the whole command line is wanted, of which this is a part.
    from overnight.cli.app import build  # noqa: PLC0415

    text = script(shell, list(commands(build())))
    if voice.json:
        return voice.display().show({"shell": shell, "script": text}, "")
    print(text, end="")
    return 0


def commands(app: "App") -> Iterator[Command]:
    for name in app:
        if name.startswith("-"):
            continue
        one = app[name]
        own: list[Argument] = (
            []
            if name == "emulator"
            else list(one.assemble_argument_collection(default_parameter=app.default_parameter))
        )
        flags: list[str] = ["--help"]
        valued: list[str] = []
        for argument in own:
            names = [option for option in argument.names if option.startswith("--")]
            (flags if _is_flag(argument) else valued).extend(names)
        about = (one.help or "").partition("\n")[0]
        yield Command(name, about, tuple(flags), tuple(valued))


def _is_flag(argument: "Argument") -> bool:
    return argument.hint is bool or set(get_args(argument.hint)) == {bool, type(None)}


def script(shell: Shell, found: list[Command]) -> str:
    if shell == "fish":
        return "".join(f"{line}\n" for line in _fish(found))
    head = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" if shell == "zsh" else ""
    cases = "".join(f"    {one.name}) options={shlex.quote(' '.join((*one.flags, *one.valued)))} ;;\n" for one in found)
    valued = sorted({option for one in found for option in one.valued} | {"-o"})
    return head + _BASH.format(
        names=" ".join(one.name for one in found), cases=cases, valued="|".join(valued), of_runs="|".join(_OF_RUNS)
    )


_BASH = """\
# overnight: commands, options and names of runs.
_overnight_runs() {{
  local root=${{OVERNIGHT_RUNS:-runs}} emulate=${{OVERNIGHT_EMULATE:-}} i one
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      --runs) root=${{COMP_WORDS[i+1]}} ;;
      --emulate) emulate=1 ;;
      --no-emulate) emulate= ;;
    esac
  done
  [[ -n "$emulate" ]] && root=$root/.rehearsal
  [[ -d "$root" ]] || return
  for one in $(command ls "$root"); do
    if [[ -e "$root/$one/ledger.db" ]]; then echo "$one"; fi
  done
}}

_overnight() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" verb= options= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      -*) ;;
      *) verb="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  if [[ -z "$verb" ]]; then
    COMPREPLY=($(compgen -W "{names} --help --version" -- "$cur"))
    return
  fi
  case "$verb" in
{cases}  esac
  case "$prev" in
    {valued}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")); return ;;
  esac
  case "$verb" in
    {of_runs}) COMPREPLY=($(compgen -W "$(_overnight_runs)" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}}

complete -o filenames -F _overnight overnight
"""


def _fish(found: list[Command]) -> Iterator[str]:
    yield "# overnight: commands, options and names of runs."
    yield _FISH_RUNS
    for one in found:
        yield f"complete -c overnight -n __fish_use_subcommand -f -a {one.name} -d {_fish_quoted(one.about)}"
        seen = f"-n '__fish_seen_subcommand_from {one.name}'"
        for option in one.flags:
            yield f"complete -c overnight {seen} -l {option.removeprefix('--')}"
        for option in one.valued:
            yield f"complete -c overnight {seen} -r -l {option.removeprefix('--')}"
        if one.name in _OF_RUNS:
            yield f"complete -c overnight {seen} -f -a '(__overnight_runs)'"


_FISH_RUNS = """\
function __overnight_runs
    set -l words (commandline -opc)
    set -l root runs
    set -q OVERNIGHT_RUNS; and set root $OVERNIGHT_RUNS
    set -l at (contains -i -- --runs $words); and set root $words[(math $at + 1)]
    if contains -- --emulate $words; or test -n "$OVERNIGHT_EMULATE"
        set root $root/.rehearsal
    end
    for ledger in $root/*/ledger.db
        basename (dirname $ledger)
    end
end"""


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
