"""`/api/chat` and `/api/generate`: an Answer as Ollama writes it, whole or a line at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Answer, Models, Prompt, Turn
from overnight_emulator.answers.tools import Offer
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.ollama.errors import Refused, from_fault
from overnight_emulator.dialects.ollama.local_models import moment_text
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.prompts import turns_of
from overnight_emulator.dialects.openai.tools import chat_offer
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.streaming import LINES, Stream, portions

_EFFORTS = {True: "medium", False: "none", None: "none"}
_NANOSECONDS = 1_000_000_000
_COUNTS = (
    *("done_reason", "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration"),
    *("eval_count", "eval_duration", "context"),
)
_NOT_SIMULATED = ("suffix", "template", "logprobs", "top_logprobs")


def turns(body: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Of either call: messages, or a prompt with what stands before it."""
    if "messages" in body:
        said = body["messages"]
        pictures = [len(one.get("images") or ()) if isinstance(one, dict) else 0 for one in said or ()]
        read = turns_of(said)
        return tuple(msgspec.structs.replace(turn, files=count) for turn, count in zip(read, pictures, strict=False))
    system = (Turn("system", str(body["system"])),) if body.get("system") else ()
    return (*system, Turn("user", str(body.get("prompt") or ""), len(body.get("images") or ())))


def answer(models: Models, body: dict[str, Any], model: str, digest: bytes, moment: float, *, chat: bool) -> Reply:
    for name in _NOT_SIMULATED:
        if body.get(name):
            raise Refused(400, f"{name} is not simulated by this emulator")
    said = models.answer(_prompt(body, model, digest))
    usage = Usage(
        input_tokens=said.input_tokens, output_tokens=said.output_tokens, reasoning_tokens=said.reasoning_tokens
    )
    thoughts = {"thinking": f"Let me think about it. {said.reasoning_tokens} tokens."} if body.get("think") else {}
    content = {"message": _message(said, thoughts)} if chat else {"response": said.text, **thoughts, "context": []}
    whole = {
        "model": model,
        "created_at": moment_text(moment),
        **content,
        "done": True,
        "done_reason": "length" if said.ending == "length" else "stop",
        "total_duration": _NANOSECONDS,
        "load_duration": 0,
        "prompt_eval_count": said.input_tokens,
        "prompt_eval_duration": _NANOSECONDS // 2,
        "eval_count": said.output_tokens,
        "eval_duration": _NANOSECONDS // 2,
    }
    return Reply(200, whole, usage)


def _prompt(body: dict[str, Any], model: str, digest: bytes) -> Prompt:
    options = body.get("options") or {}
    form, think, stop = body.get("format"), body.get("think"), options.get("stop") or ()
    longest = options.get("num_predict")
    return Prompt(
        model=model,
        turns=_within(turns(body), options.get("num_ctx")),
        digest=digest,
        schema=form if isinstance(form, dict) else None,
        wants_json=form == "json",
        max_tokens=None if isinstance(longest, int) and longest < 0 else longest,
        effort=think if isinstance(think, str) else _EFFORTS[think],
        offer=_offer(body),
        stops=(stop,) if isinstance(stop, str) else tuple(stop),
    )


def _offer(body: dict[str, Any]) -> Offer:
    """There is no way to force a tool here."""
    if body.get("tool_choice") is not None:
        raise Refused(400, "tool_choice is not supported")
    try:
        return chat_offer({"tools": body.get("tools")})
    except ApiError as refused:
        raise Refused(400, str(refused)) from refused


def _message(said: Answer, thoughts: dict[str, str]) -> dict[str, Any]:
    calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in said.calls]
    return {"role": "assistant", "content": said.text, **thoughts, **({"tool_calls": calls} if calls else {})}


def _within(turns: tuple[Turn, ...], size: object) -> tuple[Turn, ...]:
    """A prompt longer than the context loses its beginning without a word. A token is about four characters."""
    if not isinstance(size, int):
        return turns
    room = size * 4
    kept: list[Turn] = []
    for turn in reversed(turns):
        kept.append(msgspec.structs.replace(turn, text=turn.text[-room:] if room else ""))
        room = max(0, room - len(turn.text))
    return tuple(reversed(kept))


def _lines(whole: Mapping[str, Any]) -> Iterator[bytes]:
    head = {"model": whole["model"], "created_at": whole["created_at"]}
    for told in _parts(whole):
        yield _line({**head, **told, "done": False})
    empty = {"message": {"role": "assistant", "content": ""}} if "message" in whole else {"response": ""}
    yield _line({**head, **empty, "done": True, **{name: whole[name] for name in _COUNTS if name in whole}})


def _parts(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if "message" not in whole:
        yield from ({"response": "", "thinking": part} for part in portions(whole.get("thinking", "")))
        yield from ({"response": part} for part in portions(whole["response"]))
        return
    message = whole["message"]
    for part in portions(message.get("thinking", "")):
        yield {"message": {"role": "assistant", "content": "", "thinking": part}}
    for part in portions(message["content"]):
        yield {"message": {"role": "assistant", "content": part}}
    for call in message.get("tool_calls", ()):
        yield {"message": {"role": "assistant", "content": "", "tool_calls": [call]}}


def _line(told: Any) -> bytes:
    return msgspec.json.encode(told) + b"\n"


def _error(fault: Fault) -> bytes:
    return _line(from_fault(fault).body)


LINE_STREAM = Stream(LINES, _lines, _error)
