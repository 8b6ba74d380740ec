"""Vertex: jobs over buckets, each in a folder of its own, with the credentials of Google Cloud."""

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from emulator_process import EmulatorProcess
from overnight.core.ask import Buckets, Model
from overnight.core.errors import Gone, StudyError, Unauthorized, Unavailable
from overnight.providers import Batch, Endpoint, Fence, Intent, check_sending, vendor
from overnight.providers.vertex import provider
from overnight.providers.vertex.connection import VertexConnection
from overnight.providers.vertex.connection.tokens import Tokens
from overnight.providers.vertex.jobs import BUCKETS, job_body, job_of, read_page, since
from providers.asking import KEY, stored
from providers.emulated import TRUTH, EmulatedVendor, end_of, rows_of, submit
from providers.scripted_server import serving

SURROUNDINGS = {
    "STORAGE_EMULATOR_HOST": "http://127.0.0.1:1",
    "GOOGLE_CLOUD_PROJECT": "lab",
    "VERTEX_INPUT_BUCKET": "gs://b/in",
    "VERTEX_OUTPUT_BUCKET": "gs://b/out",
}


@pytest.fixture(scope="module")
def sharded() -> Iterator[EmulatorProcess]:
    truth = TRUTH | {
        "limits": {"shard_rows": 4},
        "buckets": {"refuse": ["locked"], "missing": ["nowhere"], "refuse_service": ["sealed"]},
    }
    with EmulatorProcess(truth) as running:
        yield running


def emulated(emulator: EmulatorProcess, folder: Path) -> EmulatedVendor:
    emulator.arm([])
    return EmulatedVendor("vertex", emulator, folder)


def at_buckets(one: EmulatedVendor, **buckets: str) -> VertexConnection:
    endpoint = one.provider().endpoint
    chosen = Buckets(**{"input": "gs://rehearsal/in", "output": "gs://rehearsal/out", **buckets})
    return VertexConnection(msgspec.structs.replace(endpoint, buckets=chosen))


def job(state: str = "JOB_STATE_RUNNING", **more: Any) -> dict[str, Any]:
    return {
        "name": "projects/p/locations/l/batchPredictionJobs/17",
        "state": state,
        "labels": {"overnight": "tok"},
        **more,
    }


def test_every_shard_of_a_jobs_own_folder_is_read(sharded: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(sharded, tmp_path)
    first, second = one.intent(one.asks(10)), one.intent(one.asks(9))

    async def work(vertex: VertexConnection) -> None:
        batches = [await submit(vertex, each) for each in (first, second)]
        for batch, each in zip(batches, (first, second), strict=True):
            ended = await end_of(vertex, batch)
            ((kind, folder),) = ended.parts
            assert (kind, folder.startswith(f"gs://rehearsal/out/{each.token}/prediction-model-")) == ("output", True)
            place = BUCKETS.place_of(folder)
            assert place is not None
            assert len(await vertex._storage.below(place)) == 3
            rows = (await rows_of(one, vertex, ended))["output"]
            assert {line.custom_id for line in rows} == {f"o{each.token}-{n}" for n in range(each.rows)}

    one.run(work)  # type: ignore[arg-type]


def test_two_jobs_with_one_output_prefix_do_not_read_each_others_files(
    sharded: EmulatorProcess, tmp_path: Path
) -> None:
    """Also when somebody else's job wrote below the very same prefix."""
    one = emulated(sharded, tmp_path)
    mine, theirs = one.intent(one.asks(3)), one.intent(one.asks(3))

    async def work(vertex: VertexConnection) -> None:
        batches = []
        for each in (mine, theirs):
            body = msgspec.json.decode(
                job_body(
                    each, await vertex.upload(each), BUCKETS.place_of("gs://rehearsal/out") or pytest.fail("no place")
                )
            )
            body["outputConfig"]["gcsDestination"]["outputUriPrefix"] = "gs://rehearsal/shared"
            made = await vertex._wire.ask(
                "create", "POST", f"{vertex._parent}/batchPredictionJobs", body=msgspec.json.encode(body)
            )
            batches.append(job_of(msgspec.json.decode(made.body)))
        for batch, each in zip(batches, (mine, theirs), strict=True):
            rows = (await rows_of(one, vertex, await end_of(vertex, batch)))["output"]
            assert {line.custom_id for line in rows} == {f"o{each.token}-{n}" for n in range(3)}

    one.run(work)  # type: ignore[arg-type]


def test_a_listing_of_files_that_breaks_off_is_noticed(sharded: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(sharded, tmp_path)
    sent = one.intent(one.asks(10))

    async def work(vertex: VertexConnection) -> None:
        ended = await end_of(vertex, await submit(vertex, sent))
        sharded.arm([{"on": "list", "do": "status", "status": 503, "where": "prefix="}])
        with pytest.raises(Unavailable):
            await vertex.fetch(ended.parts[0][1], lambda _: None)
        sharded.arm([{"on": "content", "do": "cut", "quiet": True, "at": 0.5, "times": 1}])
        came: list[bytes] = []
        announced = await vertex.fetch(ended.parts[0][1], came.append)
        assert announced is not None
        assert len(b"".join(came)) < announced

    one.run(work)  # type: ignore[arg-type]


def test_an_upload_is_made_once(sharded: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(sharded, tmp_path)
    sent = one.intent(one.asks(2))
    sharded.arm([{"on": "upload", "do": "drop_answer", "times": 1}])

    async def work(vertex: VertexConnection) -> None:
        with pytest.raises(Unavailable):
            await vertex.upload(sent)
        uri = await vertex.upload(sent)
        assert uri == f"gs://rehearsal/in/{sent.token}.jsonl"
        other = msgspec.structs.replace(sent, bytes=sent.bytes + 1)
        with pytest.raises(Unavailable, match="bytes of the upload arrived"):
            await vertex.upload(other)
        assert not await vertex.knows_file(uri)

    one.run(work)  # type: ignore[arg-type]


def test_permission_errors_name_role_and_bucket(sharded: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(sharded, tmp_path)
    sent = one.intent(one.asks(1))

    async def work(_: Any) -> None:
        locked = at_buckets(one, input="gs://locked/in")
        with pytest.raises(Unauthorized, match=r"storage\.objects\.create.*roles/storage\.objectUser\) on gs://locked"):
            await locked.upload(sent)
        nowhere = at_buckets(one, input="gs://nowhere")
        with pytest.raises(Unauthorized, match="gs://nowhere does not exist"):
            await nowhere.upload(sent)
        sealed = at_buckets(one, output="gs://sealed/out")
        refusal = (await end_of(sealed, await submit(sealed, sent))).refusal
        assert refusal is not None
        assert refusal.kind == "unauthorized"
        assert "service-1@gcp-sa-aiplatform.iam.gserviceaccount.com does not have" in refusal.message
        assert "roles/storage.objectAdmin) on gs://rehearsal and gs://sealed" in refusal.message
        for each in (locked, nowhere, sealed):
            await each.close()

    one.run(work)


def test_a_live_call_gives_the_same_row(sharded: EmulatorProcess, tmp_path: Path) -> None:
    one = emulated(sharded, tmp_path)
    asks = one.asks(1)
    sent = one.intent(asks)

    async def work(vertex: VertexConnection) -> None:
        (row,) = (await rows_of(one, vertex, await end_of(vertex, await submit(vertex, sent))))["output"]
        reply = await vertex.call(one.model, provider.format.encode(asks[0]))
        assert provider.format.decode(provider.format.live_line(f"o{sent.token}-0", reply)) == row

    one.run(work)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("JOB_STATE_QUEUED", "running"),
        ("JOB_STATE_PAUSED", "running"),
        ("JOB_STATE_CANCELLING", "running"),
        ("JOB_STATE_UPDATING", "running"),
        ("JOB_STATE_SUCCEEDED", "completed"),
        ("JOB_STATE_PARTIALLY_SUCCEEDED", "completed"),
        ("JOB_STATE_EXPIRED", "expired"),
        ("JOB_STATE_CANCELLED", "cancelled"),
        ("JOB_STATE_FAILED", "failed"),
    ],
)
def test_every_state_ends_or_goes_on(state: str, phase: str) -> None:
    found = job_of(job(state))
    assert (found.phase, found.known_status, found.id, found.tag) == (phase, True, "17", "tok")


def test_counts_and_folders() -> None:
    stats = {"successfulCount": "5", "failedCount": "2", "incompleteCount": "-1"}
    done = job_of(job("JOB_STATE_SUCCEEDED", completionStats=stats, outputInfo={"gcsOutputDirectory": "gs://b/x"}))
    assert (done.counts.total, done.counts.completed, done.counts.failed) == (7, 5, 2)
    assert done.parts == (("output", "gs://b/x"),)
    assert job_of(job("JOB_STATE_RUNNING", outputInfo={"gcsOutputDirectory": "gs://b/x"})).parts == ()
    assert job_of(job("JOB_STATE_FAILED", error={"code": 13, "message": "Oh."})).refusal.kind == "trouble"  # type: ignore[union-attr]


def test_listings_reach_back_by_a_filter() -> None:
    assert since(Fence(1_794_787_200.0)) == {"filter": 'create_time>="2026-11-16T00:00:00Z"'}
    assert since(Fence(None)) == {}
    assert read_page(b"{}", None).batches == ()
    with pytest.raises(Unavailable):
        read_page(b'{"error":"no"}', None)


def test_labels_and_folder_carry_the_token(tmp_path: Path) -> None:
    model = Model(provider="vertex", name="gemini-2.5-flash")
    intent = Intent(token="tok", run="My Essays!", model=model, rows=1, bytes=1, file=stored(tmp_path / "x"))
    body = msgspec.json.decode(
        job_body(intent, "gs://b/in/tok.jsonl", BUCKETS.place_of("gs://b") or pytest.fail("no place"))
    )
    assert body["labels"] == {"overnight": "tok", "run": "my-essays-"}
    assert body["outputConfig"]["gcsDestination"]["outputUriPrefix"] == "gs://b/tok"
    assert body["model"] == "publishers/google/models/gemini-2.5-flash"


def test_what_is_no_address_is_gone_or_unknown() -> None:
    async def work() -> None:
        vertex = VertexConnection(Endpoint(base_url="http://127.0.0.1:1", key=KEY))
        with pytest.raises(Gone):
            await vertex.fetch("file-1", lambda _: None)
        assert not await vertex.knows_file("file-1")
        await vertex.remove_file("file-1")

    asyncio.run(work())


def test_ids_of_another_project_are_used_as_they_are() -> None:
    vertex = VertexConnection(Endpoint(base_url="http://x", key=KEY, project="p", location="l"))
    assert vertex._job_path("17") == "/v1/projects/p/locations/l/batchPredictionJobs/17"
    assert (
        vertex._job_path("projects/q/locations/m/batchPredictionJobs/18")
        == "/v1/projects/q/locations/m/batchPredictionJobs/18"
    )
    assert provider.format.ours(Batch(id="1", phase="running", status=""), _intent(), None) == "no"


def _intent() -> Intent:
    return Intent(
        token="tok", run="r", model=Model(provider="vertex", name="m"), rows=1, bytes=1, file=stored(Path("x"))
    )


def test_an_endpoint_from_googles_variables(tmp_path: Path) -> None:
    endpoint = provider.endpoint(SURROUNDINGS | {"GOOGLE_CLOUD_LOCATION": "europe-west4"}, None)
    assert (endpoint.project, endpoint.location, endpoint.key) == ("lab", "europe-west4", "anonymous")
    assert endpoint.base_url == "https://europe-west4-aiplatform.googleapis.com"
    assert (endpoint.storage_url, endpoint.buckets) == (
        "http://127.0.0.1:1",
        Buckets(input="gs://b/in", output="gs://b/out"),
    )
    account = tmp_path / "account.json"
    account.write_text('{"type": "service_account", "project_id": "theirs"}')
    mine = Model(provider="vertex", name="m", key="LAB", buckets=Buckets(input="gs://c", output="gs://d"))
    surroundings = {"LAB": str(account), "GOOGLE_CLOUD_LOCATION": "global"}
    real = provider.endpoint(surroundings, mine)
    assert (real.key, real.credentials, real.project) == ("", str(account), "theirs")
    assert (real.base_url, real.storage_url) == ("https://aiplatform.googleapis.com", "https://storage.googleapis.com")
    assert real.buckets == mine.buckets


@pytest.mark.parametrize(
    ("left_out", "model", "words"),
    [
        ("GOOGLE_CLOUD_PROJECT", None, "GOOGLE_CLOUD_PROJECT is not set"),
        ("VERTEX_OUTPUT_BUCKET", None, "VERTEX_OUTPUT_BUCKET: found '', wanted gs://"),
        ("", Model(provider="vertex", name="m", key="LAB"), "LAB is not set"),
    ],
)
def test_what_is_missing_is_named(left_out: str, model: Model | None, words: str) -> None:
    environ = {name: value for name, value in SURROUNDINGS.items() if name != left_out}
    with pytest.raises(StudyError, match=words):
        provider.endpoint(environ, model)


def test_looking_needs_no_buckets_and_sending_does() -> None:
    environ = {name: value for name, value in SURROUNDINGS.items() if "BUCKET" not in name}
    endpoint = provider.endpoint(environ, Model(provider="vertex", name="m"))
    with pytest.raises(StudyError, match="write `buckets:"):
        check_sending(vendor("vertex"), endpoint)
    check_sending(vendor("openai"), endpoint)


def test_a_missing_extra_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overnight.providers.vertex.sign_in.find_spec", lambda _: None)
    with pytest.raises(StudyError, match=r"pip install 'overnight\[vertex\]'"):
        provider.endpoint({"GOOGLE_CLOUD_PROJECT": "lab"}, None)


def service_account(folder: Path, token_uri: str) -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    account = {
        "type": "service_account",
        "project_id": "lab",
        "private_key": pem.decode(),
        "client_email": "robot@lab.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }
    path = folder / "account.json"
    path.write_bytes(msgspec.json.encode(account))
    return str(path)


@pytest.mark.skipif(importlib.util.find_spec("google.auth") is None, reason="an extra")
def test_tokens_come_from_the_credentials_and_are_made_once(tmp_path: Path) -> None:
    asked: list[bytes] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(await request.read())
        return web.json_response(
            {"access_token": f"ya29.token-{len(asked)}", "expires_in": 3600, "token_type": "Bearer"}
        )

    async def work() -> None:
        async with serving(answer) as server:
            tokens = Tokens("", service_account(tmp_path, f"{server.url}/token"))
            heads = await asyncio.gather(*(tokens.headers() for _ in range(5)))
        assert {head["Authorization"] for head in heads} == {"Bearer ya29.token-1"}
        assert len(asked) == 1
        assert b"assertion=" in asked[0]

    asyncio.run(work())


@pytest.mark.skipif(importlib.util.find_spec("google.auth") is None, reason="an extra")
def test_credentials_that_do_not_work_are_told_in_words(tmp_path: Path) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.json_response({"error": "invalid_grant", "error_description": "Account disabled"}, status=400)

    async def work() -> None:
        async with serving(refuse) as server:
            path = service_account(tmp_path, f"{server.url}/token")
            with pytest.raises(Unauthorized, match="no access token"):
                await Tokens("", path).headers()
        nowhere = str(tmp_path / "nowhere.json")
        with pytest.raises(Unauthorized, match="no access token"):
            await Tokens("", nowhere).headers()
        vertex = VertexConnection(Endpoint(base_url="http://127.0.0.1:1", key="", credentials=nowhere))
        reply = await vertex.call(Model(provider="vertex", name="m"), b"{}")
        assert (reply.sent, "no access token" in (reply.problem or "")) == (False, True)
        await vertex.close()

    asyncio.run(work())
