"""xAI's REST API. The official SDK speaks gRPC and cannot be pointed here, so plain HTTP drives it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from emulator_process import EmulatorProcess

MODEL = "grok-4.3"


def requests(count: int, **more: Any) -> dict[str, Any]:
    return {
        "batch_requests": [
            {
                "batch_request_id": f"r{n}",
                "batch_request": {
                    "chat_get_completion": {
                        "model": MODEL,
                        "messages": [{"role": "user", "content": f"Question number {n}?"}],
                        **more,
                    }
                },
            }
            for n in range(count)
        ]
    }


@pytest.fixture
def client(shared: EmulatorProcess) -> httpx.Client:
    return httpx.Client(base_url=f"{shared.url}/xai/v1", headers={"Authorization": "Bearer any"})


def made(client: httpx.Client, name: str) -> str:
    reply = client.post("/batches", json={"name": name}).json()
    assert reply["state"]["num_requests"] == 0
    return str(reply["batch_id"])


def test_a_batch_is_made_filled_and_read_in_pages(client: httpx.Client, shared: EmulatorProcess) -> None:
    with client:
        batch = made(client, "night")
        assert client.post(f"/batches/{batch}/requests", json=requests(5)).status_code == 200
        again = client.post(f"/batches/{batch}/requests", json=requests(5))
        assert again.status_code == 200, "what was added before is not added again"
        assert client.get(f"/batches/{batch}").json()["state"]["num_requests"] == 5
        shared.finish()
        seen = client.get(f"/batches/{batch}").json()
        assert (seen["name"], seen["state"]["num_success"], seen["state"]["num_pending"]) == ("night", 5, 0)
        rows, token = [], ""
        while token is not None:
            page = client.get(f"/batches/{batch}/results", params={"limit": 2, "pagination_token": token}).json()
            rows += page["results"]
            token = page["pagination_token"]
        assert {row["batch_request_id"] for row in rows} == {f"r{n}" for n in range(5)}
        assert all(row["batch_result"]["response"]["chat_get_completion"]["choices"] for row in rows)


def test_thoughts_are_counted_beside_the_answer(client: httpx.Client) -> None:
    with client:
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Name a lake."}], "reasoning_effort": "high"}
        usage = client.post("/chat/completions", json=body).json()["usage"]
    thought = usage["completion_tokens_details"]["reasoning_tokens"]
    assert thought > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] + thought


def test_an_empty_batch_is_closed_and_takes_nothing_more(client: httpx.Client) -> None:
    with client:
        batch = made(client, "closed")
        assert client.post(f"/batches/{batch}:cancel").json()["cancel_time"]
        reply = client.post(f"/batches/{batch}/requests", json=requests(1))
    assert (reply.status_code, set(reply.json())) == (412, {"code", "error"})


def test_an_add_is_whole_or_nothing(client: httpx.Client) -> None:
    with client:
        batch = made(client, "half")
        wrong = requests(2)
        wrong["batch_requests"][1]["batch_request"]["chat_get_completion"]["model"] = "grok-typo"
        assert client.post(f"/batches/{batch}/requests", json=wrong).status_code == 400
        assert client.get(f"/batches/{batch}").json()["state"]["num_requests"] == 0


def test_a_batch_that_the_provider_cancels_has_one_time_of_that(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"faults": [{"on": "batch", "do": "cancel", "times": 1}]})
    headers = {"Authorization": "Bearer any"}
    with httpx.Client(base_url=f"{emulator.url}/xai/v1", headers=headers) as client:
        batch = made(client, "night")
        assert client.post(f"/batches/{batch}/requests", json=requests(5)).status_code == 200
        emulator.finish()
        times = []
        for _ in range(2):
            times.append(client.get(f"/batches/{batch}").json()["cancel_time"])
            emulator.advance(600)
        assert times[0] is not None
        assert times[0] == times[1]


def test_a_bad_key_is_a_bad_request(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"keys": {"refuse": ["dead"]}})
    reply = httpx.get(f"{emulator.url}/xai/v1/models", headers={"Authorization": "Bearer dead"})
    assert reply.status_code == 400
    assert "API key" in json.loads(reply.content)["error"]


@pytest.mark.parametrize("asked", [{"limit": "-1"}, {"pagination_token": "-5"}, {"limit": "x"}])
def test_a_page_that_cannot_be_is_refused(client: httpx.Client, asked: dict[str, str]) -> None:
    with client:
        batch = made(client, "pages")
        for path in ("/batches", f"/batches/{batch}/results"):
            assert client.get(path, params=asked).status_code == 400
