"""Bedrock's jobs, Converse and S3, driven by the official SDK."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

from emulator_process import EmulatorProcess

MODEL = "us.amazon.nova-lite-v1:0"
ROLE = "arn:aws:iam::123456789012:role/lab"


def client(emulator: EmulatorProcess, service: str, path: str = "bedrock") -> Any:
    return boto3.client(
        service,
        endpoint_url=f"{emulator.url}/{path}",
        region_name="us-east-1",
        aws_access_key_id="AKIAEMULATOR",
        aws_secret_access_key="secret",
        config=Config(retries={"max_attempts": 1}),
    )


def records(count: int) -> bytes:
    lines = [
        {"recordId": f"R{n:04d}", "modelInput": {"messages": [{"role": "user", "content": [{"text": f"Why {n}?"}]}]}}
        for n in range(count)
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def job(emulator: EmulatorProcess, count: int, token: str | None = None, name: str = "night") -> str:
    client(emulator, "s3", "s3").put_object(Bucket="lab", Key=f"in/{name}.jsonl", Body=records(count))
    made = client(emulator, "bedrock").create_model_invocation_job(
        jobName=name,
        roleArn=ROLE,
        modelId=MODEL,
        modelInvocationType="Converse",
        inputDataConfig={"s3InputDataConfig": {"s3Uri": f"s3://lab/in/{name}.jsonl", "s3InputFormat": "JSONL"}},
        outputDataConfig={"s3OutputDataConfig": {"s3Uri": "s3://lab/out/"}},
        **({"clientRequestToken": token} if token else {}),
    )
    return str(made["jobArn"])


def test_a_job_from_s3_to_s3(shared: EmulatorProcess) -> None:
    arn = job(shared, 120)
    shared.finish()
    bedrock, s3 = client(shared, "bedrock"), client(shared, "s3", "s3")
    seen = bedrock.get_model_invocation_job(jobIdentifier=arn)
    assert (seen["status"], seen["jobName"], seen["totalRecordCount"]) == ("Completed", "night", 120)
    folder = f"out/{arn.rsplit('/', 1)[-1]}/"
    names = [one["Key"] for one in s3.list_objects_v2(Bucket="lab", Prefix=folder)["Contents"]]
    assert names == [f"{folder}manifest.json.out", f"{folder}night.jsonl.out"]
    rows = [json.loads(row) for row in s3.get_object(Bucket="lab", Key=names[1])["Body"].read().splitlines()]
    assert [row["recordId"] for row in rows] == [f"R{n:04d}" for n in range(120)], "in the order of the input"
    assert all(row["modelOutput"]["output"]["message"]["content"][0]["text"] for row in rows)
    found = bedrock.list_model_invocation_jobs(nameContains="nig", sortBy="CreationTime", sortOrder="Descending")
    assert arn in [one["jobArn"] for one in found["invocationJobSummaries"]]


def test_a_token_makes_two_creates_one(shared: EmulatorProcess) -> None:
    token = uuid4().hex
    assert job(shared, 100, token, "once") == job(shared, 100, token, "once")


def test_a_job_of_few_records_fails(shared: EmulatorProcess) -> None:
    arn = job(shared, 99, name="few")
    shared.finish()
    seen = client(shared, "bedrock").get_model_invocation_job(jobIdentifier=arn)
    assert (seen["status"], "minimum of a job is 100 records" in seen["message"]) == ("Failed", True)


def test_a_job_is_stopped(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1000, 1000]}})
    arn = job(emulator, 100)
    emulator.advance(500)
    bedrock = client(emulator, "bedrock")
    bedrock.stop_model_invocation_job(jobIdentifier=arn)
    assert bedrock.get_model_invocation_job(jobIdentifier=arn)["status"] == "Stopping"
    emulator.advance(700)
    assert bedrock.get_model_invocation_job(jobIdentifier=arn)["status"] == "Stopped"
    with pytest.raises(bedrock.exceptions.ConflictException):
        bedrock.stop_model_invocation_job(jobIdentifier=arn)


def test_a_question_is_answered(shared: EmulatorProcess) -> None:
    answer = client(shared, "bedrock-runtime").converse(
        modelId=MODEL,
        messages=[{"role": "user", "content": [{"text": "Name a lake."}]}],
        inferenceConfig={"maxTokens": 200},
    )
    assert "lake" in answer["output"]["message"]["content"][0]["text"]
    assert answer["usage"]["totalTokens"] == answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"]


SPEC = {
    "name": "find_city",
    "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
}
ASKED = [{"role": "user", "content": [{"text": "Name a lake."}]}]


def test_an_answer_in_pieces_is_the_whole_one(shared: EmulatorProcess) -> None:
    runtime = client(shared, "bedrock-runtime")
    whole = runtime.converse(modelId=MODEL, messages=ASKED)
    events = list(runtime.converse_stream(modelId=MODEL, messages=ASKED)["stream"])
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
    assert len(deltas) > 2
    assert "".join(deltas) == whole["output"]["message"]["content"][0]["text"]
    assert events[-1]["metadata"]["usage"] == whole["usage"]


def test_a_tool_is_called_and_its_result_is_read(shared: EmulatorProcess) -> None:
    runtime = client(shared, "bedrock-runtime")
    tools = {"tools": [{"toolSpec": SPEC}], "toolChoice": {"any": {}}}
    said = runtime.converse(modelId=MODEL, messages=ASKED, toolConfig=tools)
    assert said["stopReason"] == "tool_use"
    (call,) = (part["toolUse"] for part in said["output"]["message"]["content"])
    assert call["input"]["city"]
    events = list(runtime.converse_stream(modelId=MODEL, messages=ASKED, toolConfig=tools)["stream"])
    parts = [
        event["contentBlockDelta"]["delta"]["toolUse"]["input"] for event in events if "contentBlockDelta" in event
    ]
    assert json.loads("".join(parts)) == call["input"]
    result = {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": "Rome and its hills"}]}}
    talk = [*ASKED, said["output"]["message"], {"role": "user", "content": [result]}]
    answered = runtime.converse(modelId=MODEL, messages=talk, toolConfig={"tools": [{"toolSpec": SPEC}]})
    assert "hills" in answered["output"]["message"]["content"][0]["text"]


def test_sequences_that_stop_and_what_is_not_simulated(shared: EmulatorProcess) -> None:
    runtime = client(shared, "bedrock-runtime")
    stopped = runtime.converse(modelId=MODEL, messages=ASKED, inferenceConfig={"stopSequences": ["lake"]})
    assert stopped["stopReason"] == "stop_sequence"
    assert "lake" not in stopped["output"]["message"]["content"][0]["text"]
    guard = {"guardrailIdentifier": "a", "guardrailVersion": "1"}
    with pytest.raises(ClientError, match="guardrailConfig"):
        runtime.converse(modelId=MODEL, messages=ASKED, guardrailConfig=guard)


def test_a_stream_breaks_in_the_middle(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"faults": [{"on": "live", "do": "stream_error", "status": 429, "message": "no more"}]})
    runtime = client(emulator, "bedrock-runtime")
    stream = runtime.converse_stream(modelId=MODEL, messages=ASKED)["stream"]
    with closing(runtime), closing(stream), pytest.raises(EventStreamError, match="no more"):
        list(stream)


def test_objects_are_put_read_and_removed(shared: EmulatorProcess) -> None:
    s3 = client(shared, "s3", "s3")
    s3.put_object(Bucket="lab", Key="a b/ü.txt", Body=b"hello")
    assert s3.head_object(Bucket="lab", Key="a b/ü.txt")["ContentLength"] == 5
    assert s3.get_object(Bucket="lab", Key="a b/ü.txt")["Body"].read() == b"hello"
    s3.delete_object(Bucket="lab", Key="a b/ü.txt")
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.get_object(Bucket="lab", Key="a b/ü.txt")
