"""The task `inputs`: models write test inputs for each statement of a specification, and judges rate them.

Here is what a study says of it: the statements, the models in their three parts, how many inputs, and how hard.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overnight.core.stage import Stage
from overnight.study.arms import Branch, build_arms
from overnight.study.buckets import StudyBuckets
from overnight.study.items import ItemSource
from overnight.study.models import Candidate, ModelEntry, check_models, entries, resolve_models
from overnight.study.origin import Origin
from overnight.study.prompts import read_systems
from overnight.study.stage import WrittenStage
from overnight.study.task_kind import Command, Draft, Made, TaskKind
from overnight.tasks._inputs.flags import InputFlags
from overnight.tasks._inputs.forms import Role, schema_of
from overnight.tasks._inputs.questions import MADE, Inputs
from overnight.tasks._inputs.rules import InputRules
from overnight.tasks._inputs.statements import ChosenStatements, StatementsEntry, check_statements, chosen_statements
from overnight.tasks._judge_prompts import with_schema
from overnight.tasks._judging.written_prompts import read_prompt_files, without_prompt
from overnight.tasks._specs.inputs import named
from overnight.tasks._specs.reading import check_spec, read_spec
from overnight.terminal.parameters import Parameter

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from overnight.reporting import Section, Source

_GRADES = (1.0, 5.0)
_MOST = 1_000
TABLES = ("inputs", "input_losses", "input_rounds")


class InputsStage(WrittenStage, frozen=True, kw_only=True):
    """What a stage of this task has besides the common keys. `models` are the writers."""

    spec: str
    judges: list[str | ModelEntry] | None = None
    candidates: list[str | ModelEntry] | None = None
    statements: StatementsEntry | None = None
    n: int | None = 10
    rounds: int = 3
    scenarios: int = 5
    per_scenario: int = 3
    selection: float = 0.33
    difficulty: float = 1.0
    rating_threshold: float = 5.0
    uniform: bool = False
    likeness: float = 0.7
    # One judge prompt for each statement, in the place of what judges are usually told.
    prompt_files: Any = None


def check(stage: InputsStage, origin: Origin) -> None:
    """Everything that can be known without opening a file."""
    check_spec(stage.spec, origin)
    for key, written in {"models": stage.models, "judges": stage.judges, "candidates": stage.candidates}.items():
        if written is not None:
            check_models(written, origin, key)
        for index, entry in enumerate(entries(written or ())):
            if entry.json_schema is not None and key != "candidates":
                raise origin.error((key, index, "json_schema"), "inputs has forms of its own for these answers")
    for key in ("system", "grid"):
        if getattr(stage, key) is not None:
            way_out = (
                "a system text goes with a model: {model: ..., system: ...}" if key == "system" else "leave it out"
            )
            raise origin.error((key,), f"inputs asks its models for different things; {way_out}")
    if stage.replicates != 1:
        raise origin.error(("replicates",), "inputs asks each model once; more inputs are `n` and `scenarios`")
    check_statements(stage.statements, origin)
    for key in ("n", "rounds", "scenarios", "per_scenario"):
        number = getattr(stage, key)
        if number is not None and not 1 <= number <= _MOST:
            raise origin.error((key,), f"{number:,} is not between 1 and {_MOST:,}")
    for key, (low, high) in {
        "selection": (0, 1),
        "difficulty": (0, 1),
        "likeness": (0.1, 1),
        "rating_threshold": _GRADES,
    }.items():
        if not low <= getattr(stage, key) <= high:
            raise origin.error((key,), f"{getattr(stage, key):g} is not between {low:g} and {high:g}")


def _rules(stage: InputsStage) -> InputRules:
    return InputRules(**{name: getattr(stage, name) for name in InputRules.__struct_fields__})


def draft(stage: InputsStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    parts = _Parts(stage, origin, buckets)
    branches = (
        *parts.arms("scenarios", "models", stage.models),
        *parts.arms("questions", "models", stage.models),
        *parts.arms("answer", "candidates", stage.candidates or ()),
        *parts.arms("rating", *(("judges", stage.judges) if stage.judges else ("models", stage.models))),
    )
    spec = read_spec(stage.spec, origin)
    rows = ChosenStatements(stage.spec, chosen_statements(spec, stage.statements, stage.seed, origin))
    systems = {arm: template.text for arm, template in read_systems(branches, None).by_arm.items()}
    rules = _rules(stage)
    prompts = {} if stage.prompt_files is None else read_prompt_files(stage.prompt_files, origin, spec)

    def make(source: ItemSource) -> Made:  # noqa: ARG001 - the statements are the items, whatever their table is called
        task = Inputs([branch.arm for branch in branches], rules, systems, prompts)
        return Made(task, (*_notes(stage, rules, rows, len(spec)), *_prompt_notes(prompts, rows)))

    return Draft(
        stage=stage,
        origin=origin,
        branches=branches,
        make=make,
        definition={"rules": msgspec.to_builtins(rules), **({"prompt_files": prompts} if prompts else {})},
        notes=tuple(dict.fromkeys(parts.notes)),
        rows=rows,
    )


class _Parts:
    """The arms of each part that models have here, and what there is to know about these models."""

    def __init__(self, stage: InputsStage, origin: Origin, buckets: StudyBuckets | None) -> None:
        self._stage = stage
        self._origin = origin
        self._buckets = buckets
        self._names: set[str] = set()
        self.notes: list[str] = []

    def arms(self, role: Role, key: str, written: Sequence[str | ModelEntry]) -> Iterator[Branch]:
        models: list[Candidate] = []
        if written:
            models, notes = resolve_models(written, self._origin, self._buckets, key)
            self.notes += notes
        if not models:
            return
        arms = build_arms(self._stage.name, (role,), models, None, self._origin, key=key)
        schema = schema_of(role)
        yield from arms if schema is None else with_schema(arms, schema)


def _notes(stage: InputsStage, rules: InputRules, rows: ChosenStatements, statements: int) -> Iterator[str]:
    """What the user should know before paying."""
    if rows.count < statements:
        yield f"{rows.count} of {statements} statements are written for"
    most = rules.scenarios * rules.per_scenario * len(stage.models)
    if rules.n is not None and rules.rounds * most < rules.n:
        yield f"n: {rules.n} inputs are wanted, and there are at most {rules.rounds * most} to choose from"
    steps = "scenarios, inputs, answers and ratings" if stage.candidates else "scenarios, inputs and ratings"
    yield f"each round is {steps}, and each of these waits for all answers before it; counted is the most there can be"
    if not stage.judges:
        yield "judges: the writers rate what they wrote themselves; name others to be safe from self-praise"


def _prompt_notes(prompts: Mapping[str, str], rows: ChosenStatements) -> Iterator[str]:
    missing = without_prompt(prompts, rows.ids) if prompts else []
    if missing:
        those = f"{len(missing)} of {rows.count} statements have no judge prompt: {named(missing)}"
        yield f"{those}; their inputs are rated as usual"


@Parameter(name="*")
class Flags(InputFlags):
    """Write test inputs for the statements of a specification.

    Writers invent scenarios and inputs in rounds that aim at a difficulty, judges rate them, near-duplicates are
    taken out, and the best are kept. The same command again goes on where the last one ended.

    Examples:
      overnight inputs --spec rules.jsonl --model openai/gpt-4.1 --judge-model openai/gpt-4.1-mini \\
        --output-dir inputs
      overnight inputs --spec-path rules.jsonl --evaluator-model gpt-4.1 --candidate-model gpt-4.1-nano \\
        --judge-mode response_judge --rounds 5 --num-inputs 20
    """


def make_tables(results: Path, stages: Sequence[Stage]) -> Iterator[tuple[str, "pl.LazyFrame"]]:
    # Polars takes a third of a second, which a study that is only read need not wait.
    from overnight.tasks._inputs.tables import make_input_tables  # noqa: PLC0415

    return make_input_tables(results, stages)


def missing_table(table: str, tables: Path) -> str:  # noqa: ARG001 - see the type
    return f"{table}: none of its stages writes inputs, or nothing has been written yet"


def summary(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator["RenderableType"]:
    from overnight.tasks._inputs.tables import input_summary  # noqa: PLC0415 - as above

    return input_summary(tables, run, typed)


def report(source: "Source") -> Iterator["Section"]:
    from overnight.tasks._inputs.report import input_report  # noqa: PLC0415 - as above

    return input_report(source)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """More inputs, or more rounds, are more of the same."""
    before, now = old.get("rules") or {}, new.get("rules") or {}
    for field, was in before.items():
        here = now.get(field)
        if field in ("n", "rounds") and was is not None and (here is None or here >= was):
            continue
        if here != was:
            yield f"{field}: was {was}, is now {here}; only `n` and `rounds` may grow"


kind = TaskKind(
    name=Inputs.name,
    settings=InputsStage,
    check=check,
    draft=draft,
    open=Inputs.from_spec,
    item_keys=("spec",),
    makes=MADE,
    fixed=("prompt_files",),
    holds_tables=(("prompt_files",),),
    differences=differences,
    in_rounds="inputs are written in rounds, each by what those before it brought; ask for fewer `statements` instead",
    tables=TABLES,
    make_tables=make_tables,
    missing_table=missing_table,
    summary=summary,
    report=report,
    command=Command(
        flags=Flags,
        items_help=None,
        optional=True,
        named="the task's, the specification's and the writer's",
    ),
)
