"""The format of OpenAI's look-alikes: chat completions, live and in batches; what differs is data."""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from overnight.core.ask import Ask, Model, Thinking
from overnight.core.result import Line, Result
from overnight.providers.contract import Batch, Intent, Limits, Ours, ReadyLine, Reply
from overnight.providers.openai_api.body import PATHS, RESERVED, Form, encode, read_line
from overnight.providers.openai_api.body import line as line_of
from overnight.providers.openai_api.live import live_line
from overnight.providers.openai_api.rows import decode
from overnight.providers.openai_api.windows import Windows
from overnight.providers.reading.listing import ours_by_tag
from overnight.providers.writing import ByModel

_THINK, _THOUGHT = "<think>", "</think>"
_json = msgspec.json.Encoder()

ReadThinking = Callable[[Thinking], dict[str, Any] | None]
ReadRow = Callable[[bytes], Line]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Models with rules of their own, by patterns of their names; the first family that fits a name holds."""

    patterns: tuple[str, ...]
    # Options that these models refuse, each with what to do instead.
    refuses: Mapping[str, str] = {}
    # Where their batches are held to other limits than those of the rest.
    limits: Limits | None = None


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How questions are written for one vendor. `thinking` gives the fields for a setting; None refuses it."""

    name: str
    thinking: ReadThinking
    families: tuple[Family, ...] = ()
    # The fields for the longest answer and for the seed.
    cap: str = "max_tokens"
    seed: str = "seed"
    # The highest temperature there is.
    hottest: float | None = None
    read: ReadRow = decode

    def family(self, name: str) -> Family | None:
        fits = (one for one in self.families if any(fnmatchcase(name, pattern) for pattern in one.patterns))
        return next(fits, None)


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """What one batch may hold, and how its lines look. Without `url`, a line has an id and a body, and no more."""

    limits: Limits
    url: str | None = PATHS["chat"]
    windows: Windows | None = None


class LookalikeFormat:
    """How a look-alike is asked live, and how it answers."""

    def __init__(self, rules: Rules, lines: Lines | None = None) -> None:
        self._rules = rules
        self._windows = lines.windows if lines is not None else None
        url = lines.url if lines is not None else None
        named = b"" if url is None else b',"method":"POST","url":' + _json.encode(url)
        self._middle = named + b',"body":'
        self._forms = ByModel(self._form)

    def problems(self, model: Model) -> list[str]:
        late = self._windows.problems(model) if self._windows is not None else []
        return [*_problems(self._rules, model), *late]

    def encode(self, ask: Ask) -> bytes:
        return encode(self._forms.of(ask.arm.model), ask)

    def decode(self, line: bytes) -> Line:
        decoded = self._rules.read(line)
        if decoded.result is None or not (decoded.result.answer or "").startswith(_THINK):
            return decoded
        return Line(decoded.custom_id, _apart(decoded.result), decoded.problem)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return live_line(custom_id, reply)

    def _form(self, model: Model) -> Form:
        settings = _settings(self._rules, model)
        if self._windows is not None:
            settings.pop(self._windows.field, None)
        written = b"".join(b",%b:%b" % (_json.encode(key), _json.encode(settings[key])) for key in sorted(settings))
        return Form(
            model=model,
            head=b'{"model":' + _json.encode(model.name),
            tail=written + b"}",
            line_middle=self._middle,
            responses=False,
            system_role="system",
        )


class LookalikeBatchFormat(LookalikeFormat):
    """And how it takes batches."""

    # Where batches carry no metadata, their input tells whose they are: a listing shows that just as well.
    tags = True

    def __init__(self, rules: Rules, lines: Lines) -> None:
        super().__init__(rules, lines)
        self._lines = lines

    def limits(self, model: Model) -> Limits:
        family = self._rules.family(model.name)
        limits = self._lines.limits if family is None or family.limits is None else family.limits
        return limits if self._windows is None else self._windows.within(limits, model)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        return line_of(self._forms.of(model), custom_id, body)

    def read_line(self, line: bytes) -> ReadyLine:
        return read_line(line, self._rules.name, (self._lines.url,) if self._lines.url else ())

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        return ours_by_tag(batch, intent, file_id)


def _settings(rules: Rules, model: Model) -> dict[str, Any]:
    options = model.options
    schema = options.json_schema
    named = schema and {"name": str(schema.get("title") or "answer"), "schema": schema, "strict": True}
    settings = {
        rules.cap: options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        rules.seed: options.seed,
        "stop": list(options.stop) or None,
        "response_format": named and {"type": "json_schema", "json_schema": named},
        **((options.thinking is not None and rules.thinking(options.thinking)) or {}),
    }
    chosen = {field: value for field, value in settings.items() if value is not None}
    return chosen | {field: value for field, value in options.extra.items() if field not in RESERVED}


def _problems(rules: Rules, model: Model) -> Iterator[str]:
    options, family = model.options, rules.family(model.name)
    if options.api == "responses":
        yield f"api: 'responses' with {rules.name}, which is asked by chat completions; leave it out"
    if options.thinking is not None and rules.thinking(options.thinking) is None:
        instead = "leave it out" if rules.thinking("on") is None else "write off, on, low, medium or high"
        yield f"thinking: {options.thinking!r} has no counterpart at {rules.name}; {instead}"
    if rules.hottest is not None and (options.temperature or 0) > rules.hottest:
        yield f"temperature: {options.temperature:g} is more than {rules.name} takes; wanted 0 to {rules.hottest:g}"
    for field, instead in family.refuses.items() if family is not None else ():
        if getattr(options, field) not in (None, ()):
            yield f"{field}: not taken by {model.name}; {instead}"
    for field in sorted(RESERVED & options.extra.keys()):
        yield f"extra: `{field}` is written by Overnight and cannot be set; leave it out"


def _apart(result: Result) -> Result:
    """Thoughts that a model writes in front of its answer; one that never came to an answer only thought."""
    thoughts, closed, answer = (result.answer or "").removeprefix(_THINK).partition(_THOUGHT)
    if not closed and result.outcome != "truncated":
        return result
    return msgspec.structs.replace(result, answer=answer.lstrip(), thoughts=result.thoughts or thoughts.strip() or None)
