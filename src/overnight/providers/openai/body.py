"""What a model's options come to in a request, once per model."""

import re
from typing import Any

import msgspec

from overnight.core.ask import Model, Options
from overnight.providers.openai.families import api_of, effort_of, family_of
from overnight.providers.openai_api.body import PATHS, RESERVED, Api, Form

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")

_json = msgspec.json.Encoder()


def form_of(model: Model) -> Form:
    api = api_of(model)
    settings = _settings(model, api)
    written = b"".join(b",%b:%b" % (_json.encode(key), _json.encode(settings[key])) for key in sorted(settings))
    return Form(
        model=model,
        head=b'{"model":' + _json.encode(model.name),
        tail=written + b"}",
        line_middle=b',"method":"POST","url":' + _json.encode(PATHS[api]) + b',"body":',
        responses=api == "responses",
        system_role=family_of(model.name).system_role,
    )


def _settings(model: Model, api: Api) -> dict[str, Any]:
    options = model.options
    settings = _chat_settings(model) if api == "chat" else _responses_settings(model)
    settings |= {"temperature": options.temperature, "top_p": options.top_p}
    chosen = {field: value for field, value in settings.items() if value is not None}
    return chosen | {field: value for field, value in options.extra.items() if field not in RESERVED}


def _chat_settings(model: Model) -> dict[str, Any]:
    options = model.options
    schema = _named_schema(options)
    return {
        family_of(model.name).cap: options.max_tokens,
        "reasoning_effort": effort_of(model),
        "seed": options.seed,
        "stop": list(options.stop) or None,
        "response_format": schema and {"type": "json_schema", "json_schema": schema},
    }


def _responses_settings(model: Model) -> dict[str, Any]:
    effort = effort_of(model)
    schema = _named_schema(model.options)
    # Summaries are asked for only with thinking: some accounts must be verified before they get any.
    summary = {} if effort in (None, "none") else {"summary": "auto"}
    return {
        "max_output_tokens": model.options.max_tokens,
        "reasoning": effort and {"effort": effort, **summary},
        "text": schema and {"format": {"type": "json_schema", **schema}},
    }


def _named_schema(options: Options) -> dict[str, Any] | None:
    """The schema with its fields in the order they were given: models write their answer in that order."""
    if options.json_schema is None:
        return None
    title = _NOT_IN_A_NAME.sub("_", str(options.json_schema.get("title", ""))).strip("_")[:64]
    return {"name": title or "answer", "schema": options.json_schema, "strict": True}
