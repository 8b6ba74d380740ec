"""A model that is asked many prompts at once: sent, looked at and collected, by one process or by several."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from overnight.api import results, resume, run, submit
from overnight.api.keys import key_of
from overnight.api.places import run_folder
from overnight.api.status import status_of, unfinished
from overnight.core.arguments import checked
from overnight.core.errors import RunBusy, StudyError, Throttled, Unavailable, WrongArgument
from overnight.settings import Settings, settings
from overnight.speceval._metadata import Kept, kept_in, kept_of, told
from overnight.speceval._prompts import batch_study, conversations
from overnight.tasks._specs.speceval_export import said
from overnight.tasks._specs.speceval_flags import buckets_of, model_of


class BatchedModel:
    """What the models of all vendors have in common; make one of a vendor's: OpenAIBatchedModel, ...

    `temperature` and `max_tokens` are those of every prompt, unless a call gives others. `api_key` goes before the
    one in the environment and is kept nowhere: another process needs it again. `new` says that a name which looks
    like a known one mistyped is meant so.
    """

    org: ClassVar[str] = ""
    # Whether prompts are asked call by call, so that `generate_batch` comes back with all of them answered.
    live: ClassVar[bool] = False
    input_bucket: str | None = None
    output_bucket: str | None = None

    @checked
    def __init__(
        self,
        model_name: str,
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        api_key: str | None = None,
        new: bool = False,
    ) -> None:
        if not self.org:
            raise StudyError("BatchedModel: which vendor's? OpenAIBatchedModel, AnthropicBatchedModel, ...")
        if not model_name.strip():
            raise WrongArgument("model_name: the text is empty")
        if api_key is not None and not api_key.strip():
            raise WrongArgument("api_key: wanted a key, found an empty text")
        self.model_name = model_name.strip()
        self._options = {"temperature": temperature, "max_tokens": max_tokens}
        self._api_key = api_key
        self._new = {"new": True} if new else {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r})"

    def get_info(self) -> dict[str, Any]:
        """Who is asked, and how; the key is not in it."""
        return {"model_name": self.model_name, "provider": self.org, **self._options}

    def supports_caching(self) -> bool:
        """False, as in SpecEval: what has been answered once is on record, and never asked again."""
        return False

    @checked
    def generate_batch(
        self,
        prompts: Sequence[str | Mapping[str, Any]],
        batch_output_dir: str | Path | None = None,
        batch_size: int | None = None,
        *,
        system_prompts: Sequence[str | None] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Send prompts, texts or mappings with `input_text`, and come back when the provider has them.

        What it returns can be kept as JSON. The run lies in `batch_output_dir`, or with all others; the same call
        again, after whatever ended the first, goes on with it: nothing is sent or paid twice.
        """
        asked = conversations(prompts, system_prompts)
        entry = self.entry(temperature=temperature, max_tokens=max_tokens)
        study = batch_study(asked, self._called, entry, self.pace(batch_size))
        place = settings(runs=batch_output_dir)
        with self.key():
            done = (run if self.live else submit)(study, runs=batch_output_dir)
        kept = kept_of(done.name, place, self._called, len(asked))
        return {**msgspec.to_builtins(kept), **told(done.status(), done)}

    @checked
    def check_batch_progress(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Look once: collect what has ended, send what is left. The metadata again, with `status` as it is now.

        That is processing, completed, failed (no prompt has an answer) or unknown: `message` says why, and the same
        call later may know more.
        """
        kept = kept_in(metadata, self._called)
        return {**metadata, **self._look(kept)}

    @checked
    def get_batch_results(self, metadata: Mapping[str, Any]) -> list[str | None]:
        """The answers so far, one for each prompt and in their order.

        A prompt that is still to be answered has None in its place, one that has failed `ERROR: ` and the cause.
        """
        kept = kept_in(metadata, self._called)
        if unfinished(run_folder(kept.run, self._place(kept))):
            self._look(kept)
        found = results(kept.run, runs=kept.runs, emulate=kept.emulated or None)
        answers: list[str | None] = [None] * kept.prompts
        for row in found.to_dicts():
            name = str(row["item_id"])
            if not name.isdecimal() or int(name) >= kept.prompts:
                raise StudyError(
                    f"metadata: run '{kept.run}' is not one of {kept.prompts} prompts: it has a row '{name}'"
                )
            answers[int(name)] = None if row["status"] == "pending" else said(row)
        return answers

    @property
    def _called(self) -> str:
        return f"{'vertex' if self.input_bucket else self.org}/{self.model_name}"

    def entry(self, **given: Any) -> dict[str, Any]:
        """As a study writes the model; what is given goes before the model's own."""
        known = self._options | {name: value for name, value in given.items() if value is not None}
        # 0 and 0.0 are the same temperature, numpy's too: the run's name is made of it.
        kinds = {"temperature": float, "max_tokens": int}
        options = {name: kinds[name](value) for name, value in known.items() if value is not None}
        return {"model": model_of(self.model_name, self.org), **options, **self._new}

    def key(self) -> AbstractContextManager[None]:
        """The caller's own key, as long as it is needed."""
        return key_of(self.org, self._api_key)

    def _place(self, kept: Kept) -> Settings:
        """A rehearsal stays one, whoever takes it up; and its answers are never taken for those of a real batch."""
        place = settings(runs=kept.runs, emulate=kept.emulated or None)
        if place.emulate and not kept.emulated:
            raise StudyError(
                "metadata: its batch was really sent, and this is a rehearsal; overnight.emulate(False) ends it"
            )
        return place

    def _look(self, kept: Kept) -> dict[str, Any]:
        folder = run_folder(kept.run, self._place(kept))
        done, message = None, None
        try:
            with self.key():
                (done,) = resume(kept.run, once=True, runs=kept.runs, emulate=kept.emulated or None)
        except RunBusy:
            pass  # another process works on it: what is on record says how far it is
        except (Unavailable, Throttled) as error:
            message = str(error)
        return told(status_of(folder), done, message)

    def pace(self, batch_size: int | None) -> dict[str, Any]:
        """How its prompts travel, as a study writes it."""
        if batch_size is not None and batch_size < 1:
            raise WrongArgument(f"batch_size: {batch_size} is less than 1")
        return {} if batch_size is None else {"batch": {"max_requests": int(batch_size)}}


class OpenAIBatchedModel(BatchedModel):
    """A model of OpenAI's, in batches."""

    org = "openai"


class AnthropicBatchedModel(BatchedModel):
    """A model of Anthropic's, in batches."""

    org = "anthropic"


class GoogleBatchedModel(BatchedModel):
    """A model of Google's, in batches: with both buckets on Vertex, without on the Gemini API."""

    org = "google"

    @checked
    def __init__(
        self,
        model_name: str,
        *,
        input_bucket: str | None = None,
        output_bucket: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        api_key: str | None = None,
        new: bool = False,
    ) -> None:
        super().__init__(model_name, temperature=temperature, max_tokens=max_tokens, api_key=api_key, new=new)
        if (input_bucket is None) != (output_bucket is None):
            raise WrongArgument("input_bucket and output_bucket go together: one of them is missing")
        if input_bucket is not None and api_key is not None:
            raise WrongArgument("api_key: Vertex takes a file of credentials (GOOGLE_APPLICATION_CREDENTIALS), no key")
        self.input_bucket, self.output_bucket = input_bucket, output_bucket

    def pace(self, batch_size: int | None) -> dict[str, Any]:
        buckets = buckets_of(self.input_bucket, self.output_bucket)
        return super().pace(batch_size) | ({} if buckets is None else {"buckets": buckets})


class TogetherBatchedModel(BatchedModel):
    """A model at Together, asked call by call: `batch_size` prompts at once, at most `qps` calls in a second."""

    org = "together"
    live = True

    @checked
    def __init__(
        self,
        model_name: str,
        *,
        qps: float | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        api_key: str | None = None,
        new: bool = False,
    ) -> None:
        super().__init__(model_name, temperature=temperature, max_tokens=max_tokens, api_key=api_key, new=new)
        if qps is not None and qps <= 0:
            raise WrongArgument(f"qps: {qps:g} is not above 0")
        self._qps = None if qps is None else float(qps)

    def pace(self, batch_size: int | None) -> dict[str, Any]:
        super().pace(batch_size)
        limits = {"concurrency": None if batch_size is None else int(batch_size), "qps": self._qps}
        return {"mode": "live", "live": {name: value for name, value in limits.items() if value is not None}}
