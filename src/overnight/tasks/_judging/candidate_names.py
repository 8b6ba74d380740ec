"""What a candidate is called: the model whose answers are judged, in words that tell it from the others."""

from collections.abc import Mapping
from typing import Any

from overnight.core.ask import thinking_text
from overnight.study.arms import arm_name

# Templates that a stage has by itself say nothing about a candidate.
_UNSAID = ("input", "prompt", "messages")
_UNSET = thinking_text(None)


def candidate_name(fields: Mapping[str, Any]) -> str:
    """Of a row that was handed on: `openai/gpt-4.1`, or `openai/gpt-4.1 (low, short)` where more is set.

    From the row alone, so that a candidate keeps its name when others are added; two arms never share one. Answers from
    folders bring the name along.
    """
    if "arm" not in fields:
        return str(fields["candidate"])
    provider, model = fields["provider"], fields["model"]
    traits = {
        "template": fields["template"],
        "model": f"{provider}/{model}",
        "thinking": fields["thinking"],
        "direction": "forward",
    }
    plain = arm_name(traits, model)
    extra = [fields["thinking"]] if fields["thinking"] != _UNSET else []
    extra += [fields["template"]] if fields["template"] not in _UNSAID else []
    if fields["arm"] != plain:
        # Arms that differ in something else have a mark at the end of their name.
        extra.append(fields["arm"].removeprefix(plain).strip("_") or fields["arm"])
    name = f"{provider}/{model}"
    return f"{name} ({', '.join(extra)})" if extra else name
