"""Fireworks' lines and rows: no line names its model, and a completion is the response itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.core.result import Result
from overnight.providers import batch_format, check_sending, ready_line, vendor
from overnight.providers.fireworks.format import with_model
from overnight.providers.fireworks.rows import decode
from providers.asking import KEY, ask

FIREWORKS = vendor("fireworks")
MODEL = Model(provider="fireworks", name="gpt-oss-20b")
COMPLETION = {
    "choices": [{"message": {"content": "A plum."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
}


def read(row: dict[str, Any]) -> Result:
    found = decode(json.dumps({"custom_id": "x", **row}).encode())
    assert found.custom_id == "x"
    assert found.result is not None
    return found.result


@pytest.mark.parametrize("response", [COMPLETION, {"status_code": 200, "body": COMPLETION}])
def test_an_answer_with_and_without_an_envelope(response: dict[str, Any]) -> None:
    result = read({"response": response})
    assert (result.outcome, result.answer, result.usage.output) == ("answered", "A plum.", 5)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("no", "server_error"),
        ({"code": 400, "message": "no"}, "invalid_request"),
        ({"code": 429, "message": "no"}, "rate_limited"),
        ({"code": "model_not_found", "message": "no"}, "unknown_model"),
    ],
)
def test_failed_rows_have_causes(error: Any, cause: str) -> None:
    result = read({"error": error})
    assert (result.outcome, result.cause) == ("failed", cause)
    assert "no" in str(result.detail)


def test_the_model_is_in_a_call_and_in_a_ready_made_line_and_in_no_other() -> None:
    pure = batch_format(FIREWORKS)
    body = pure.encode(ask(MODEL, "Hello."))
    assert json.loads(body) == {"messages": [{"role": "user", "content": "Hello."}]}
    assert json.loads(with_model(MODEL, body))["model"] == "accounts/fireworks/models/gpt-oss-20b"
    ready = ready_line(FIREWORKS, MODEL, "a", body)
    assert json.loads(ready)["body"]["model"] == "accounts/fireworks/models/gpt-oss-20b"
    again = pure.read_line(ready)
    assert (again.model.name, json.loads(again.body)) == ("accounts/fireworks/models/gpt-oss-20b", json.loads(body))


def test_batches_need_an_account() -> None:
    endpoint = FIREWORKS.endpoint({"FIREWORKS_API_KEY": KEY}, None)
    with pytest.raises(StudyError, match="FIREWORKS_ACCOUNT_ID is not set"):
        check_sending(FIREWORKS, endpoint)
    check_sending(FIREWORKS, FIREWORKS.endpoint({"FIREWORKS_API_KEY": KEY, "FIREWORKS_ACCOUNT_ID": "lab"}, None))
