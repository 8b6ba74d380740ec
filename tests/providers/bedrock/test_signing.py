"""What is signed is what is sent: botocore, given the request as it arrived, comes to the same signature."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from aiohttp import web
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from overnight.core.ask import Buckets, Model
from overnight.core.errors import StudyError, Unauthorized
from overnight.providers import Endpoint, Intent, check_sending, vendor
from overnight.providers.bedrock.connection import BedrockConnection
from providers.asking import ask, stored
from providers.scripted_server import ScriptedServer, serving

BEDROCK = vendor("bedrock")
MODEL = Model(provider="bedrock", name="us.anthropic.claude-haiku-4-5-v1:0")
LISTING = '<?xml version="1.0"?><ListBucketResult></ListBucketResult>'


async def answer(request: web.Request) -> web.StreamResponse:
    if request.path.startswith("/lab"):
        return web.Response(text=LISTING, content_type="application/xml")
    return web.json_response({"jobArn": "arn:aws:bedrock:us-east-1:1:model-invocation-job/abc", "status": "InProgress"})


def calls(tmp_path: Path) -> ScriptedServer:
    (tmp_path / "rows").write_bytes(b'{"recordId":"a"}\n')
    intent = Intent(token="tok", run="r", model=MODEL, rows=1, bytes=17, file=stored(tmp_path / "rows"))

    async def outer() -> ScriptedServer:
        async with serving(answer) as server:
            endpoint = Endpoint(
                base_url=server.url,
                key="",
                project="arn:aws:iam::1:role/r",
                location="eu-west-1",
                storage_url=server.url,
                buckets=Buckets(input="s3://lab/a b", output="s3://lab/out"),
            )
            connection = BedrockConnection(endpoint)
            file_id = await connection.upload(intent)
            await connection.create(intent, file_id)
            await connection.newest()
            await connection.retrieve("arn:aws:bedrock:us-east-1:1:model-invocation-job/abc")
            await connection.knows_file(file_id)
            await connection.call(MODEL, BEDROCK.format.encode(ask(MODEL, "Hello?")))
            await connection.close()
            return server

    return asyncio.run(outer())


@pytest.fixture
def signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secretsecret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "sessiontoken")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.mark.usefixtures("signed_in")
def test_every_request_bears_the_signature_of_itself(tmp_path: Path) -> None:
    server = calls(tmp_path)
    assert len(server.seen) == 6
    for request, body in zip(server.seen, server.bodies, strict=True):
        told = request.headers["Authorization"]
        found = re.match(r"AWS4-HMAC-SHA256 Credential=AKIATEST/\d+/eu-west-1/(\w+)/.*SignedHeaders=([^,]+),", told)
        assert found is not None
        names = found[2].split(";")
        again = AWSRequest(
            method=request.method,
            url=str(request.url.origin()) + request.raw_path,
            headers={name: request.headers[name] for name in names if name not in ("host", "x-amz-date")},
            data=body,
        )
        signer = (S3SigV4Auth if found[1] == "s3" else SigV4Auth)(
            Credentials("AKIATEST", "secretsecret", "sessiontoken"), found[1], "eu-west-1"
        )
        again.context["timestamp"] = request.headers["X-Amz-Date"]
        again.headers["X-Amz-Date"] = request.headers["X-Amz-Date"]
        again.headers["host"] = request.headers["Host"]
        text = signer.string_to_sign(again, signer.canonical_request(again))
        assert told.endswith(f"Signature={signer.signature(text, again)}"), (request.method, request.raw_path)
        assert "secretsecret" not in str(request.raw_headers)


def test_what_is_missing_is_named_before_anything_is_sent() -> None:
    endpoint = BEDROCK.endpoint({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, None)
    assert (endpoint.base_url, endpoint.storage_url) == (
        "https://bedrock.us-east-1.amazonaws.com",
        "https://s3.us-east-1.amazonaws.com",
    )
    with pytest.raises(Unauthorized, match="AWS_PROFILE is not set"):
        BEDROCK.endpoint({}, None)
    with pytest.raises(StudyError, match="BEDROCK_INPUT_BUCKET"):
        check_sending(BEDROCK, endpoint)
    with_buckets = {"AWS_REGION": "eu-west-1", "BEDROCK_INPUT_BUCKET": "s3://a", "BEDROCK_OUTPUT_BUCKET": "s3://b/c"}
    with pytest.raises(StudyError, match="BEDROCK_ROLE_ARN is not set"):
        check_sending(BEDROCK, BEDROCK.endpoint(with_buckets, None))
    with pytest.raises(StudyError, match="wanted s3://bucket"):
        BEDROCK.endpoint({**with_buckets, "BEDROCK_INPUT_BUCKET": "gs://a"}, None)
