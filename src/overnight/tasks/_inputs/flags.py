"""The flags of `overnight inputs`: its own, and those of SpecEval's two scripts, under one name each."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from overnight.core.errors import StudyError
from overnight.core.stage import Stage
from overnight.tasks._specs.speceval_flags import model_of, run_name, use_keys
from overnight.terminal.parameters import Parameter

_MODES = ("response_judge", "input_judge")
_NOT_NEEDED = "Taken as it is, and not needed: "


@dataclass(frozen=True, kw_only=True)
class InputFlags:
    """Which statements, who writes, answers and judges, how many inputs and how hard."""

    spec_path: Annotated[
        Path | None,
        Parameter(alias="--spec", help="Required: the specification, a .jsonl or .md file.", metavar="FILE"),
    ] = None
    num_inputs: Annotated[
        int, Parameter(alias="--num-questions", help="Inputs of each statement; default: 10.", metavar="N")
    ] = 10
    rounds: Annotated[int, Parameter(help="Rounds of the search; default: 3.", metavar="N")] = 3
    scenarios_per_round: Annotated[
        int, Parameter(help="New scenarios of a statement in each round; default: 5.", metavar="N")
    ] = 5
    inputs_per_scenario: Annotated[int, Parameter(help="Inputs for each scenario; default: 3.", metavar="N")] = 3
    selection_percent: Annotated[
        float, Parameter(help="Share of earlier scenarios that are taken up again; default: 0.33.", metavar="SHARE")
    ] = 0.33
    difficulty: Annotated[
        float, Parameter(help="Wanted, from 0 (easy) to 1 (hard); default: 1, as hard as can be.", metavar="SHARE")
    ] = 1.0
    rating_threshold: Annotated[
        float, Parameter(help="Keep inputs with a mean rating up to this, 1 to 5; default: 5.", metavar="GRADE")
    ] = 5.0
    uniform: Annotated[bool, Parameter(help="Keep as many of each rating as can be.")] = False
    num_statements: Annotated[int | None, Parameter(help="So many statements by lot; default: all.", metavar="N")] = (
        None
    )
    statement_ids: Annotated[
        list[str] | None, Parameter(help="These statements.", metavar="ID...", consume_multiple=True)
    ] = None
    statement_type: Annotated[str | None, Parameter(help="Statements of this type.", metavar="TYPE")] = None
    authority_level: Annotated[str | None, Parameter(help="Statements of this authority.", metavar="LEVEL")] = None
    section: Annotated[str | None, Parameter(help="Statements of this section.", metavar="NAME")] = None
    keyword: Annotated[str | None, Parameter(help="Statements with this word in their id or text.", metavar="WORD")] = (
        None
    )
    evaluator_model: Annotated[
        str | None, Parameter(help="Who writes: SpecEval's word for --model.", metavar="MODEL")
    ] = None
    judge_model: Annotated[
        list[str] | None,
        Parameter(help="Who rates; default: the writer.", metavar="MODEL...", consume_multiple=True),
    ] = None
    candidate_model: Annotated[
        list[str] | None,
        Parameter(
            help="Whose answers show how hard an input is; default: judges rate inputs by themselves.",
            metavar="MODEL...",
            consume_multiple=True,
        ),
    ] = None
    judge_mode: Annotated[
        str | None, Parameter(help="response_judge (with --candidate-model) or input_judge.", metavar="MODE")
    ] = None
    likert_prompt_dir: Annotated[
        Path | None,
        Parameter(
            alias="--prompt-files",
            help="One judge prompt for each statement: <statement id>.txt, or ..._likert_judge.txt.",
            metavar="DIR",
        ),
    ] = None
    use_likert_prompts: Annotated[
        bool, Parameter(help="Taken as it is: --likert-prompt-dir alone says where judge prompts are.")
    ] = False
    seed: Annotated[int, Parameter(help="Where chance comes in, it begins here; default: 0.", metavar="N")] = 0
    output_dir: Annotated[
        Path | None, Parameter(help="Also write <statement id>.json files here, for --inputs.", metavar="DIR")
    ] = None
    output_file: Annotated[
        Path | None, Parameter(help="Also write all inputs with scenarios and scores, as JSON.", metavar="FILE")
    ] = None
    openai_api_key: Annotated[
        str | None, Parameter(help="Better: OPENAI_API_KEY in the environment.", metavar="KEY")
    ] = None
    disable_cache: Annotated[bool, Parameter(help=f"{_NOT_NEEDED}--name begins a new run.")] = False

    def models(self) -> list[dict[str, Any]]:
        return [] if self.evaluator_model is None else [{"model": model_of(self.evaluator_model, None)}]

    def keys(self) -> dict[str, Any]:
        use_keys({"openai_api_key": self.openai_api_key}, "command line")
        if self.spec_path is None:
            raise StudyError("inputs: --spec is missing: the specification, a .jsonl or .md file")
        if self.use_likert_prompts and self.likert_prompt_dir is None:
            told = "without --likert-prompt-dir there are no judge prompts to use; inputs are rated as usual"
            sys.stderr.write(f"--use-likert-prompts: {told}\n")
        if self.judge_mode is not None and self.judge_mode not in _MODES:
            raise StudyError(f"inputs: --judge-mode: wanted {' or '.join(_MODES)}, found '{self.judge_mode}'")
        if self.judge_mode == "response_judge" and not self.candidate_model:
            raise StudyError("inputs: --judge-mode response_judge rates answers: say whose with --candidate-model")
        answering = None if self.judge_mode == "input_judge" else self.candidate_model
        chosen = {
            "ids": self.statement_ids,
            "type": self.statement_type,
            "authority_level": self.authority_level,
            "section": self.section,
            "keyword": self.keyword,
            "n": self.num_statements,
        }
        given = {key: value for key, value in chosen.items() if value is not None}
        return {
            "name": run_name("inputs", self.spec_path.stem, self.evaluator_model or ""),
            "spec": str(self.spec_path),
            "judges": None if self.judge_model is None else [model_of(one, None) for one in self.judge_model],
            "candidates": None if answering is None else [model_of(one, None) for one in answering],
            "statements": given or None,
            "n": self.num_inputs,
            "rounds": self.rounds,
            "scenarios": self.scenarios_per_round,
            "per_scenario": self.inputs_per_scenario,
            "selection": self.selection_percent,
            "difficulty": self.difficulty,
            "rating_threshold": self.rating_threshold,
            "uniform": self.uniform,
            "prompt_files": None if self.likert_prompt_dir is None else str(self.likert_prompt_dir),
            "seed": self.seed,
        }

    def export(self, tables: Path, stages: Sequence[Stage]) -> Iterator[str]:  # noqa: ARG002 - there is one
        from overnight.tasks._inputs.files import write_folder, write_json  # noqa: PLC0415 - polars takes its time

        if self.output_dir is not None:
            yield from write_folder(tables, self.output_dir)
        if self.output_file is not None:
            yield from write_json(tables, self.output_file)
