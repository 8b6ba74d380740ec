"""Live calls, driven by the official SDK: answers, rules, refusals, errors."""

from __future__ import annotations

import http.client
import json
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import openai
import pytest
from driving import chat_body
from pydantic import BaseModel, Field

from overnight_emulator.simulate import expected, expected_answer
from overnight_emulator.truth import Answers, Truth


def said(completion) -> str:
    return completion.choices[0].message.content


def test_chat_answers_with_the_expected_text_and_its_cost(client):
    body = chat_body("Why is the sky blue on a clear day?")
    completion = client.chat.completions.create(**body)

    assert said(completion) == expected_answer(0, body)
    assert '"sky blue on a clear day"' in said(completion)
    assert completion.choices[0].finish_reason == "stop"
    usage = completion.usage
    assert usage.prompt_tokens == -(-len(body["messages"][0]["content"]) // 4)
    assert usage.completion_tokens == -(-len(said(completion)) // 4)
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.completion_tokens_details.reasoning_tokens == 0


def test_the_same_body_gets_the_same_answer_and_another_one_another(client):
    body = chat_body("Tell me something.")
    first = client.chat.completions.create(**body)
    assert said(client.chat.completions.create(**body)) == said(first)
    assert said(client.chat.completions.create(**body, temperature=0.5)) != said(first)


def test_several_choices_differ(client):
    completion = client.chat.completions.create(**chat_body("Give me options."), n=3)
    texts = [choice.message.content for choice in completion.choices]
    assert len(set(texts)) == 3
    assert completion.usage.completion_tokens == sum(-(-len(text) // 4) for text in texts)


def test_text_parts_are_read_like_text(client):
    parts = [{"type": "text", "text": "Part one."}, {"type": "text", "text": "And the second part."}]
    completion = client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": parts}])
    assert '"Part one And the second part"' in said(completion)


def test_a_low_limit_cuts_the_answer(client):
    body = chat_body("Cut me short.", max_completion_tokens=5)
    completion = client.chat.completions.create(**body)
    assert completion.choices[0].finish_reason == "length"
    assert len(said(completion)) == 20
    assert completion.usage.completion_tokens == 5


def test_a_thinking_model_spends_tokens_and_can_spend_them_all(client):
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Think hard."}]}
    completion = client.chat.completions.create(**body)
    spent = completion.usage.completion_tokens_details.reasoning_tokens
    assert 128 <= spent <= 640
    assert completion.usage.completion_tokens == spent + -(-len(said(completion)) // 4)
    assert (
        client.chat.completions.create(**body, reasoning_effort="none").usage.completion_tokens_details.reasoning_tokens
        == 0
    )
    high = client.chat.completions.create(**body, reasoning_effort="high")
    assert high.usage.completion_tokens_details.reasoning_tokens >= 512
    spent_up = client.chat.completions.create(**body, max_completion_tokens=50)
    assert said(spent_up) == ""
    assert spent_up.choices[0].finish_reason == "length"
    assert spent_up.usage.completion_tokens == 50


def test_a_long_opening_is_usually_cached(client):
    opening = {"role": "system", "content": "Rules. " * 1000}
    cached = []
    for i in range(30):
        completion = client.chat.completions.create(
            model="gpt-4.1", messages=[opening, {"role": "user", "content": str(i)}]
        )
        cached.append(completion.usage.prompt_tokens_details.cached_tokens)
    assert set(cached) == {0, 1664}
    assert cached.count(1664) > 15


def test_responses_answer_with_the_expected_text(client):
    body = {"model": "gpt-4.1", "input": "Why is the sea salty?", "instructions": "Be brief."}
    response = client.responses.create(**body)

    assert response.status == "completed"
    assert response.output_text == expected_answer(0, body)
    assert [item.type for item in response.output] == ["message"]
    assert response.usage.input_tokens == 8, "30 characters"
    assert response.usage.output_tokens == -(-len(response.output_text) // 4)


def test_responses_of_a_thinking_model_show_a_summary_only_when_asked(client):
    body = {"model": "gpt-5", "input": [{"role": "user", "content": "Think."}]}
    plain = client.responses.create(**body)
    assert [item.type for item in plain.output] == ["reasoning", "message"]
    assert plain.output[0].summary == []
    assert plain.usage.output_tokens_details.reasoning_tokens > 0
    asked = client.responses.create(**body, reasoning={"summary": "auto", "effort": "low"})
    assert "tokens" in asked.output[0].summary[0].text
    none = client.responses.create(**body, reasoning={"effort": "none"})
    assert [item.type for item in none.output] == ["message"]


def test_an_incomplete_response_says_so(client):
    response = client.responses.create(model="gpt-5", input="Think.", max_output_tokens=16)
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert [item.type for item in response.output] == ["reasoning"]
    cut = client.responses.create(model="gpt-4.1", input="Speak.", max_output_tokens=4)
    assert (cut.status, len(cut.output_text)) == ("incomplete", 16)


class Review(BaseModel):
    title: str
    stars: int = Field(ge=1, le=5)
    tags: list[str]
    reviewer: Reviewer | None


class Reviewer(BaseModel):
    name: str
    verified: bool


def test_structured_output_is_parsed_by_the_sdk(client):
    messages = [{"role": "user", "content": "Review this."}]
    completion = client.chat.completions.parse(model="gpt-4.1", messages=messages, response_format=Review)
    review = completion.choices[0].message.parsed
    assert isinstance(review, Review)
    assert 1 <= review.stars <= 5
    response = client.responses.parse(model="gpt-5", input="Review this.", text_format=Review)
    assert isinstance(response.output_parsed, Review)


def test_any_json_is_json(client):
    completion = client.chat.completions.create(
        **chat_body("Answer in JSON, please."), response_format={"type": "json_object"}
    )
    assert "answer" in json.loads(said(completion))
    with pytest.raises(openai.BadRequestError, match="'json'"):
        client.chat.completions.create(**chat_body("Answer."), response_format={"type": "json_object"})


REASONING = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({**REASONING, "max_tokens": 10}, "unsupported_parameter", "max_tokens"),
        ({**REASONING, "model": "o3", "stop": ["x"]}, "unsupported_parameter", "stop"),
        ({**REASONING, "temperature": 0}, "unsupported_value", "temperature"),
        ({**REASONING, "top_p": 0.5}, "unsupported_value", "top_p"),
        ({**REASONING, "reasoning_effort": "enormous"}, "invalid_value", "reasoning_effort"),
        (chat_body("x", reasoning_effort="low"), "unsupported_parameter", "reasoning_effort"),
        (chat_body("x", model="o3-pro"), None, "model"),
        (chat_body("x", model="gpt-5-codex"), None, "model"),
        (chat_body("x", model="o4-mini-deep-research"), None, "model"),
        (chat_body("x", max_completion_tokens=0), "integer_below_min_value", "max_completion_tokens"),
        (chat_body("x", n=1000), "integer_above_max_value", "n"),
        (chat_body("x", response_format="json"), "invalid_type", "response_format"),
        (chat_body("x", response_format={"type": "json_schema"}), "missing_required_parameter", None),
        (
            chat_body("x", response_format={"type": "json_schema", "json_schema": {"schema": {}}}),
            "missing_required_parameter",
            "response_format.json_schema.name",
        ),
        ({"model": "gpt-4.1", "messages": []}, "missing_required_parameter", "messages"),
        ({"messages": []}, None, "model"),
    ],
)
def test_what_a_model_refuses_in_chat(client, body, code, param):
    with pytest.raises(openai.BadRequestError) as refused:
        client.post("/chat/completions", cast_to=object, body=body)
    assert refused.value.code == code
    assert param is None or refused.value.param == param
    assert refused.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"model": "gpt-5", "input": "x", "temperature": 0.2}, "unsupported_value", "temperature"),
        (
            {"model": "gpt-5.1", "input": "x", "temperature": 0.2, "reasoning": {"effort": "low"}},
            "unsupported_value",
            "temperature",
        ),
        (
            {"model": "gpt-4.1", "input": "x", "reasoning": {"effort": "low"}},
            "unsupported_parameter",
            "reasoning.effort",
        ),
        ({"model": "gpt-4.1"}, "missing_required_parameter", "input"),
        (
            {"model": "gpt-4.1", "input": "x", "text": {"format": {"type": "json_schema"}}},
            "missing_required_parameter",
            None,
        ),
        ({"model": "gpt-4.1", "input": "x", "text": {"format": {"type": "json_object"}}}, None, "input"),
    ],
)
def test_what_a_model_refuses_in_responses(client, body, code, param):
    with pytest.raises(openai.BadRequestError) as refused:
        client.post("/responses", cast_to=object, body=body)
    assert refused.value.code == code
    assert param is None or refused.value.param == param


@pytest.mark.parametrize("effort", [{}, {"reasoning_effort": "none"}])
def test_a_model_that_leaves_thinking_out_is_sampled_like_any_other(client, effort):
    body = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0.2, "logprobs": True}
    reply = client.post("/chat/completions", cast_to=object, body={**body, **effort})
    assert reply["choices"][0]["logprobs"]["content"]


def test_default_sampling_is_accepted_and_pro_models_answer_on_responses(client):
    assert client.chat.completions.create(**REASONING, temperature=1, top_p=1).choices
    assert client.responses.create(model="o3-pro", input="x").output_text


def test_unknown_models_are_not_found(client):
    for call in (
        lambda: client.chat.completions.create(**chat_body("x", model="gpt-4-typo")),
        lambda: client.responses.create(model="gpt-0-mini", input="x"),
        lambda: client.models.retrieve("gpt-0"),
    ):
        with pytest.raises(openai.NotFoundError) as refused:
            call()
        assert refused.value.code == "model_not_found"
    assert "gpt-4.1" in [model.id for model in client.models.list()]
    assert client.models.retrieve("anything-else").id == "anything-else"


def test_keys_are_refused_poor_or_capped(emulate, connect):
    keys = {"refuse": ["sk-dead"], "no_credit": ["sk-poor"], "hard_limit": ["sk-capped"]}
    emulator = emulate({"keys": keys})

    def ask(key: str):
        connect(emulator, api_key=key).chat.completions.create(**chat_body("x"))

    with pytest.raises(openai.AuthenticationError) as refused:
        ask("sk-dead")
    assert (refused.value.code, refused.value.type) == ("invalid_api_key", "invalid_request_error")
    with pytest.raises(openai.RateLimitError) as refused:
        ask("sk-poor")
    assert refused.value.code == "insufficient_quota"
    with pytest.raises(openai.BadRequestError) as refused:
        ask("sk-capped")
    assert refused.value.code == "billing_hard_limit_reached"
    for key, error in (("sk-poor", openai.RateLimitError), ("sk-capped", openai.BadRequestError)):
        poor = connect(emulator, api_key=key)
        file = poor.files.create(file=("in.jsonl", b"{}"), purpose="batch")
        with pytest.raises(error):
            poor.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h")
    ask("sk-whatever")


def raw(emulator, method: str, path: str, key: str | None = "sk-x", body: bytes | None = None):
    connection = http.client.HTTPConnection(emulator.url.removeprefix("http://"))
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, json.loads(content)


def test_errors_have_one_shape_whatever_was_wrong(shared):
    for method, path, key, body, status in (
        ("GET", "/openai/v1/batches", None, None, 401),
        ("GET", "/openai/v1/nonsense", "sk-x", None, 404),
        ("DELETE", "/openai/v1/batches", "sk-x", None, 405),
        ("POST", "/openai/v1/batches", "sk-x", b"{nonsense", 400),
        ("POST", "/openai/v1/batches", "sk-x", b"[]", 400),
        ("POST", "/openai/v1/chat/completions", "sk-x", b"\xff", 400),
        ("GET", "/openai/v1/batches?after=batch_nowhere", "sk-x", None, 404),
    ):
        answer, content = raw(shared, method, path, key, body)
        assert answer.status == status, path
        assert set(content["error"]) == {"message", "type", "param", "code"}
        assert answer.headers["x-request-id"].startswith("req_")
        assert answer.headers["openai-processing-ms"].isdecimal()
    _, content = raw(shared, "GET", "/openai/v1/models", None)
    assert content["error"]["code"] == "invalid_api_key"


def test_live_replies_carry_rate_limits(client):
    answer = client.chat.completions.with_raw_response.create(**chat_body("x"))
    for what in ("requests", "tokens"):
        assert int(answer.headers[f"x-ratelimit-limit-{what}"]) > int(answer.headers[f"x-ratelimit-remaining-{what}"])
        assert answer.headers[f"x-ratelimit-reset-{what}"].endswith("s")


def test_live_answers_take_virtual_time(emulate, connect):
    client = connect(emulate({"time_scale": 10, "latency": {"live": [3, 3]}}))
    began = time.monotonic()
    client.chat.completions.create(**chat_body("x"))
    assert time.monotonic() - began > 0.29


def test_a_share_of_the_answers_is_refused_filtered_or_cut(emulate, connect):
    shares = {"refused": 0.25, "filtered": 0.25, "truncated": 0.25}
    client = connect(emulate({"seed": 3, "answers": shares}))
    truth = Truth(answers=Answers(**shares))
    seen = set()
    for i in range(24):
        body = chat_body(f"Question {i}")
        choice = client.chat.completions.create(**body).choices[0]
        response = client.responses.create(model="gpt-4.1", input=f"Question {i}")
        ending = expected(3, body, truth).ending
        seen.add(ending)
        if ending == "refusal":
            assert choice.message.content is None
            assert "can't help" in choice.message.refusal
        else:
            assert choice.message.refusal is None
            assert choice.finish_reason == ending
            assert (choice.message.content == "") == (ending == "content_filter")
        other = expected(3, {"model": "gpt-4.1", "input": f"Question {i}"}, truth).ending
        match other:
            case "refusal":
                assert response.output[0].content[0].type == "refusal"
            case "content_filter":
                assert response.incomplete_details.reason == "content_filter"
                assert response.output == []
            case "length":
                assert response.incomplete_details.reason == "max_output_tokens"
            case _:
                assert response.status == "completed"
    assert seen == {"refusal", "content_filter", "length", "stop"}


def test_two_slashes_in_a_row_are_one(shared):
    address = shared.openai_url.partition("/openai")[0]
    key = {"Authorization": "Bearer sk-test"}
    with urlopen(Request(f"{address}/openai/v1//models", headers=key)) as reply:
        assert json.load(reply)["object"] == "list"
    with pytest.raises(HTTPError, match="404"):
        urlopen(Request(f"{address}/openai/v1//nowhere", headers=key))
