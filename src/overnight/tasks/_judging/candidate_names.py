"""What a candidate is called: the model whose answers are judged, in words that tell it from the others."""

from collections.abc import Mapping
from functools import lru_cache
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
    return _name(fields["arm"], fields["provider"], fields["model"], fields["template"], fields["thinking"])


# A study has few candidates, and every row asks for the names of several.
@lru_cache(maxsize=1_000)
def _name(arm: str, provider: str, model: str, template: str, thinking: str) -> str:
    traits = {"template": template, "model": f"{provider}/{model}", "thinking": thinking, "direction": "forward"}
    plain = arm_name(traits, model)
    extra = [thinking] if thinking != _UNSET else []
    extra += [template] if template not in _UNSAID else []
    if arm != plain:
        # Arms that differ in something else have a mark at the end of their name.
        extra.append(arm.removeprefix(plain).strip("_") or arm)
    name = f"{provider}/{model}"
    return f"{name} ({', '.join(extra)})" if extra else name
