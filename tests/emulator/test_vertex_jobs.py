"""Google's own SDK in its Vertex mode against the emulator: jobs over Cloud Storage, and live calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google import genai
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from google.genai import errors, types
from google_driving import MODEL, jsonl, request, state, wait

from emulator_process import EmulatorProcess
from overnight_emulator.simulate import expected_answer


class Token(AnonymousCredentials):
    """Credentials that hold a token and never ask for one."""

    def __init__(self, token: str = "ya29.test") -> None:
        super().__init__()
        self.token = token


class Cloud:
    """A project with a bucket in it."""

    def __init__(self, emulator: EmulatorProcess, token: str = "ya29.test") -> None:
        self.genai = genai.Client(
            enterprise=True,
            project="lab",
            location="us-central1",
            credentials=Token(token),
            http_options=types.HttpOptions(base_url=f"{emulator.url}/vertex"),
        )
        self.storage = storage.Client(project="lab")
        self.bucket = self.storage.bucket("papers")

    def submit(self, lines: list[dict[str, Any]] | bytes, name: str = "run-1", prefix: str = "out") -> types.BatchJob:
        data = lines if isinstance(lines, bytes) else jsonl(lines)
        self.bucket.blob(f"in/{name}.jsonl").upload_from_string(data)
        return self.genai.batches.create(
            model=MODEL,
            src=f"gs://papers/in/{name}.jsonl",
            config={"display_name": name, "dest": f"gs://papers/{prefix}"},
        )

    def rows(self, job: types.BatchJob) -> list[dict[str, Any]]:
        assert job.dest is not None
        prefix = (job.dest.gcs_uri or "").removeprefix("gs://papers/")
        return [
            json.loads(row)
            for blob in self.bucket.list_blobs(prefix=prefix)
            for row in blob.download_as_bytes().splitlines()
        ]

    def close(self) -> None:
        self.genai.close()
        self.storage.close()


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Cloud]]:
    opened: list[Cloud] = []

    def start(emulator: EmulatorProcess, **options: Any) -> Cloud:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.url)
        opened.append(Cloud(emulator, **options))
        return opened[-1]

    yield start
    for cloud in opened:
        cloud.close()


def lines(count: int) -> list[dict[str, Any]]:
    return [{"custom_id": f"c-{n}", "request": request(f"Question {n}?")} for n in range(count)]


def test_a_job_over_cloud_storage(shared: EmulatorProcess, enter: Callable[..., Cloud]) -> None:
    cloud = enter(shared)
    asked = lines(20)
    job = cloud.submit(asked, "first", "out/first")
    assert (job.display_name, job.model) == ("first", f"publishers/google/models/{MODEL}")
    assert (job.name or "").startswith("projects/lab/locations/us-central1/batchPredictionJobs/")
    done = wait(cloud.genai, job)
    assert state(done) == "SUCCEEDED"
    rows = cloud.rows(done)
    assert [row["custom_id"] for row in rows] != [line["custom_id"] for line in asked], "the order is shuffled"
    by_id = {row["custom_id"]: row for row in rows}
    for line in asked:
        row = by_id[line["custom_id"]]
        assert row["status"] == ""
        assert row["request"] == line["request"]
        said = types.GenerateContentResponse.model_validate(row["response"])
        assert said.text == expected_answer(0, line["request"], dialect="vertex", model=MODEL)
    names = [blob.name for blob in cloud.bucket.list_blobs(prefix="out/first")]
    assert len(names) == 1
    assert names[0].startswith("out/first/prediction-model-20")
    assert names[0].endswith("/predictions.jsonl")
    stats = done.completion_stats
    assert stats is not None
    assert (stats.successful_count, stats.failed_count) == (20, None)


def test_what_looks_like_a_number_becomes_one(shared: EmulatorProcess, enter: Callable[..., Cloud]) -> None:
    cloud = enter(shared)
    ids = ["000000", "17", "1e3", "-2.50", "c-17", "0x10"]
    asked = [{"custom_id": one, "request": request(f"Q {one}?")} for one in ids]
    done = wait(cloud.genai, cloud.submit(asked, "numbers", "out/numbers"))
    assert sorted(map(str, (row["custom_id"] for row in cloud.rows(done)))) == sorted(
        ["0", "17", "1000.0", "-2.5", "c-17", "0x10"]
    )


def test_rows_that_fail_and_several_shards(
    emulate: Callable[..., EmulatorProcess], enter: Callable[..., Cloud]
) -> None:
    fault = {"on": "row", "do": "error", "status": 400, "message": "No.", "where": '"c-3"'}
    cloud = enter(emulate({"limits": {"shard_rows": 4}, "faults": [fault]}))
    done = wait(cloud.genai, cloud.submit(lines(10)))
    assert state(done) == "SUCCEEDED"
    rows = cloud.rows(done)
    assert len(rows) == 10
    assert len(list(cloud.bucket.list_blobs(prefix="out/"))) == 3
    (failed,) = [row for row in rows if row["status"]]
    assert failed["custom_id"] == "c-3"
    assert failed["status"].startswith('Bad Request: {"error":')
    assert "response" not in failed


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"not json\n", "not valid JSON"),
        (jsonl([{"contents": []}]), "no `request`"),
        (jsonl([{"request": request("?", responseSchema={"$defs": {"a": 1}})}]), "'$defs'"),
        (jsonl([{"request": {**request("?"), "tools": [{"google_search": {}}]}}]), "an empty object"),
    ],
)
def test_one_bad_line_fails_the_whole_job(
    shared: EmulatorProcess, enter: Callable[..., Cloud], line: bytes, words: str
) -> None:
    cloud = enter(shared)
    done = wait(cloud.genai, cloud.submit(jsonl(lines(1)) + line, "bad"))
    assert state(done) == "FAILED"
    assert done.error is not None
    assert done.error.code == 3
    assert words in (done.error.message or "")


def test_lists_are_filtered_by_the_server(shared: EmulatorProcess, enter: Callable[..., Cloud]) -> None:
    cloud = enter(shared)
    made = [cloud.submit(lines(1), name) for name in ("list-a", "list-b", "list-a")]
    names = [job.name for job in cloud.genai.batches.list(config={"filter": 'display_name="list-a"', "page_size": 1})]
    assert names == [made[2].name, made[0].name]
    since = made[1].create_time
    assert since is not None
    later = cloud.genai.batches.list(config={"filter": f'create_time>"{since.isoformat().replace("+00:00", "Z")}"'})
    assert [job.name for job in later] == [made[2].name]


def test_cancelled_jobs_keep_what_they_had(
    emulate: Callable[..., EmulatorProcess], enter: Callable[..., Cloud]
) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [10_000, 10_000], "live": [0, 0]}})
    cloud = enter(emulator)
    job = cloud.submit(lines(20))
    emulator.advance(5_000)
    cloud.genai.batches.cancel(name=job.name or "")
    emulator.advance(1_000)
    done = cloud.genai.batches.get(name=job.name or "")
    assert state(done) == "CANCELLED"
    assert 0 < len(cloud.rows(done)) < 20
    with pytest.raises(errors.ClientError) as over:
        cloud.genai.batches.cancel(name=job.name or "")
    assert (over.value.code, over.value.status) == (400, "FAILED_PRECONDITION")
    assert cloud.genai.batches.delete(name=job.name or "").done
    with pytest.raises(errors.ClientError) as gone:
        cloud.genai.batches.get(name=job.name or "")
    assert gone.value.code == 404


def test_buckets_that_the_service_may_not_use(
    emulate: Callable[..., EmulatorProcess], enter: Callable[..., Cloud]
) -> None:
    cloud = enter(emulate({"buckets": {"refuse_service": ["papers"]}}))
    done = wait(cloud.genai, cloud.submit(lines(1)))
    assert done.error is not None
    assert done.error.code == 7
    assert "gcp-sa-aiplatform.iam.gserviceaccount.com does not have storage.objects.get" in (done.error.message or "")
    assert "gs://papers/in/run-1.jsonl" in (done.error.message or "")


def test_what_a_create_is_refused_for(shared: EmulatorProcess, enter: Callable[..., Cloud]) -> None:
    cloud = enter(shared)
    with pytest.raises(errors.ClientError) as unknown:
        cloud.genai.batches.create(model="gemini-typo", src="gs://papers/x.jsonl", config={"dest": "gs://papers/out"})
    assert unknown.value.code == 404
    missing = cloud.genai.batches.create(model=MODEL, src="gs://papers/no.jsonl", config={"dest": "gs://papers/out"})
    done = wait(cloud.genai, missing)
    assert done.error is not None
    assert done.error.code == 5


def test_live_calls_and_tokens(emulate: Callable[..., EmulatorProcess], enter: Callable[..., Cloud]) -> None:
    emulator = emulate({"keys": {"refuse": ["ya29.old"], "hard_limit": ["ya29.poor"]}})
    cloud = enter(emulator)
    said = cloud.genai.models.generate_content(model=MODEL, contents="Why?")
    assert said.text
    assert cloud.genai.models.count_tokens(model=MODEL, contents="12345678").total_tokens == 2
    for token, code in (("ya29.old", 401), ("ya29.poor", 403)):
        with pytest.raises(errors.ClientError) as refused:
            enter(emulator, token=token).genai.models.generate_content(model=MODEL, contents="Why?")
        assert refused.value.code == code
    assert emulator.log()["rows_run"] == 1
