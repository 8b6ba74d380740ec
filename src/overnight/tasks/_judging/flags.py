"""The flags of tasks that judge by statements: their own, and SpecEval's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from overnight.core.errors import StudyError
from overnight.core.stage import Stage
from overnight.tasks._specs.speceval_export import Target, export_judgements, export_rankings
from overnight.tasks._specs.speceval_flags import buckets_of, model_of, read_config, run_name, use_keys
from overnight.terminal.parameters import Parameter


@dataclass(frozen=True, kw_only=True)
class JudgingFlags:
    """Whose answers are judged by which specification; and where SpecEval's files go."""

    # How the names of SpecEval's flags about the judge begin.
    judge: ClassVar[str] = "judge"
    task: ClassVar[str]

    spec_path: Annotated[
        Path | None, Parameter(alias="--spec", help="The specification, a .jsonl or .md file.", metavar="FILE")
    ] = None
    candidate_generation_dirs: Annotated[
        list[str] | None,
        Parameter(
            alias="--candidates",
            help="Folders of answers, one for each candidate.",
            metavar="DIR...",
            consume_multiple=True,
        ),
    ] = None
    template: Annotated[
        list[str] | None,
        Parameter(help="Templates: files, or default.", metavar="NAME|FILE...", consume_multiple=True),
    ] = None
    prompt_files: Annotated[
        Path | None,
        Parameter(
            help="One judge prompt for each statement: a folder of <statement id>.txt, or a table.", metavar="DIR|FILE"
        ),
    ] = None
    config_file: Annotated[
        Path | None, Parameter(help="A config of SpecEval's, a YAML file; flags win over it.", metavar="FILE")
    ] = None
    spec_name: Annotated[
        str | None,
        Parameter(help="How the specification is called in exports; default: its file's name.", metavar="NAME"),
    ] = None
    output_dir_base: Annotated[
        Path | None, Parameter(help="Also write the verdicts here, as SpecEval lays them out.", metavar="DIR")
    ] = None
    batch_size: Annotated[int | None, Parameter(help="At most so many requests in a batch.", metavar="N")] = None
    input_bucket: Annotated[str | None, Parameter(help="Vertex: where requests lie, gs://...", metavar="URL")] = None
    output_bucket: Annotated[str | None, Parameter(help="Vertex: where answers lie, gs://...", metavar="URL")] = None
    openai_api_key: Annotated[
        str | None, Parameter(help="Better: OPENAI_API_KEY in the environment.", metavar="KEY")
    ] = None
    anthropic_api_key: Annotated[
        str | None, Parameter(help="Better: ANTHROPIC_API_KEY in the environment.", metavar="KEY")
    ] = None
    google_api_key: Annotated[
        str | None, Parameter(help="Better: GEMINI_API_KEY in the environment.", metavar="KEY")
    ] = None

    def _judge(self) -> tuple[str | None, str | None]:
        """The judge's name and owner, by flags of SpecEval's."""
        return None, None

    def _all(self) -> dict[str, Any]:
        """What the config says, and over it what was typed."""
        written = {} if self.config_file is None else read_config(self.config_file, self.judge)
        names = ("spec_path", "spec_name", "candidate_generation_dirs", "output_dir_base", "batch_size")
        typed = {name: getattr(self, name) for name in (*names, "input_bucket", "output_bucket")}
        name, org = self._judge()
        typed |= {f"{self.judge}_judge_model_name": name, f"{self.judge}_judge_org": org}
        return written | {key: value for key, value in typed.items() if value is not None}

    def models(self) -> list[dict[str, Any]]:
        known = self._all()
        name = known.get(f"{self.judge}_judge_model_name")
        if name is None:
            return []
        entry = {"model": model_of(name, known.get(f"{self.judge}_judge_org"))}
        return [entry | ({"temperature": known["temperature"]} if "temperature" in known else {})]

    def keys(self) -> dict[str, Any]:
        keys = ("openai_api_key", "anthropic_api_key", "google_api_key")
        use_keys({key: getattr(self, key) for key in keys}, "command line")
        known = self._all()
        for key, flag in (("spec_path", "--spec"), ("candidate_generation_dirs", "--candidates")):
            if not known.get(key):
                raise StudyError(f"{self.task}: {flag} is missing")
        batch = known.get("batch_size")
        judge = known.get(f"{self.judge}_judge_model_name") or ""
        # The same model in buckets is another one: at another provider.
        bucketed = ("vertex",) if known.get("input_bucket") else ()
        return {
            "name": run_name(self.task, self._spec_name(known), judge, *bucketed),
            "spec": str(known["spec_path"]),
            "candidates": [str(one) for one in known["candidate_generation_dirs"]],
            "templates": self.template,
            "prompt_files": None if self.prompt_files is None else str(self.prompt_files),
            "batch": None if batch is None else {"max_requests": batch},
            "buckets": buckets_of(known.get("input_bucket"), known.get("output_bucket")),
        }

    def _spec_name(self, known: dict[str, Any]) -> str:
        return str(known.get("spec_name") or Path(known["spec_path"]).stem)

    def export(self, tables: Path, stages: Sequence[Stage]) -> Iterator[str]:
        known = self._all()
        if "output_dir_base" not in known:
            return
        target = Target(Path(known["output_dir_base"]), self._spec_name(known))
        write = export_rankings if self.task == "rank" else export_judgements
        for stage in stages:
            yield from write(tables, stage, target)
