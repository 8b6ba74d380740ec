"""Buckets: whose they are, how they are written, and what `google/` stands for."""

from types import SimpleNamespace

import pytest

from overnight import providers
from overnight.core.ask import Buckets, question_of
from overnight.core.errors import StudyError
from overnight.providers import vendor
from overnight.study import Study
from overnight.study.resolved import resolve

BUCKETS = {"input": "gs://lab/in", "output": "gs://lab/out"}


def models(*names: str, **fields: object) -> list[tuple[str, Buckets | None]]:
    base = {"name": "n", "task": "generate", "items": [{"id": "a", "text": "b"}], "prompt": "{text}"}
    study = Study(**{**base, "models": list(names), **fields})  # type: ignore[arg-type]
    return [(arm.model.provider, arm.model.buckets) for arm in resolve(study).stages[0].arms]


def test_google_is_vertex_where_there_are_buckets() -> None:
    assert models("google/gemini-2.5-flash") == [("gemini", None)]
    assert models("google/gemini-2.5-flash", buckets=BUCKETS) == [("vertex", Buckets(**BUCKETS))]
    assert models("gemini-2.5-flash", buckets=BUCKETS) == [("gemini", None)]


def test_only_those_who_use_them_are_told_of_them() -> None:
    found = models("openai/gpt-4.1", "vertex/gemini-2.5-flash", buckets=BUCKETS)
    assert found == [("openai", None), ("vertex", Buckets(**BUCKETS))]


def test_a_grid_means_the_same_models() -> None:
    grid = {"exclude": [{"model": "google/gemini-2.5-flash"}]}
    assert models("google/gemini-2.5-flash", "openai/gpt-4.1", buckets=BUCKETS, grid=grid) == [("openai", None)]


def test_where_answers_lie_is_no_part_of_the_question() -> None:
    base = {"name": "n", "task": "generate", "items": [{"id": "a", "text": "b"}], "prompt": "{text}"}
    one, other = (
        resolve(Study(**base, models=["vertex/gemini-2.5-flash"], buckets=buckets))  # type: ignore[arg-type]
        for buckets in (BUCKETS, {**BUCKETS, "output": "gs://other"})
    )
    assert one.definition == other.definition
    assert question_of(one.stages[0].arms[0].model) == question_of(other.stages[0].arms[0].model)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second vendor that works in buckets, beside Vertex."""
    toy = SimpleNamespace(
        name="bedrock",
        models=(),
        bucket_scheme="s3://",
        bucket_variables=("TOY_INPUT_BUCKET", "TOY_OUTPUT_BUCKET"),
        check_sending=lambda _: None,
        at_emulator=lambda endpoint, _origin, _model: endpoint,
        format=vendor("openai").format,
        connect=vendor("openai").connect,
    )
    known = providers.vendors() | {"bedrock": toy}
    monkeypatch.setattr(providers, "_installed", lambda: known)


@pytest.mark.usefixtures("stored")
def test_each_provider_has_its_own_where_several_want_some() -> None:
    s3 = {"input": "s3://lab/in", "output": "s3://lab/out"}
    named = {"vertex": BUCKETS, "bedrock": s3}
    found = models("google/gemini-2.5-flash", "bedrock/some-model", "openai/gpt-4.1", buckets=named)
    assert found == [("vertex", Buckets(**BUCKETS)), ("bedrock", Buckets(**s3)), ("openai", None)]
    assert models("google/gemini-2.5-flash", buckets={"google": BUCKETS}) == [("vertex", Buckets(**BUCKETS))]
    # Whoever has none named goes without, and `google/` is not Vertex then.
    assert models("google/gemini-2.5-flash", "vertex/x", buckets={"bedrock": s3}) == [
        ("gemini", None),
        ("vertex", None),
    ]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("buckets", "words"),
    [
        ({"vertex": {"input": "gs://a"}}, r"buckets\.vertex: `output` is missing"),
        ({"vertex": {**BUCKETS, "outptu": "gs://x"}}, r"buckets\.vertex: unknown key 'outptu'; did you mean 'output'"),
        ({"vertex": {**BUCKETS, "output": "lab"}}, r"buckets\.vertex\.output: wanted an address such as"),
        (
            {"vertex": {**BUCKETS, "input": "s3://lab"}},
            r"buckets\.vertex\.input: vertex wants an address that begins with gs",
        ),
        ({"vertx": BUCKETS}, r"buckets\.vertx: provider 'vertx' is not known; did you mean 'vertex'"),
        ({"openai": BUCKETS}, r"buckets\.openai: openai works in no buckets; leave it out"),
        ({"vertex": BUCKETS, "input": "gs://x"}, r"buckets\.input: wanted a mapping"),
        ({"vertex": {**BUCKETS, "input": 7}}, r"buckets\.vertex\.input: wanted text, found the number 7"),
    ],
)
def test_what_is_wrong_with_one_of_several_is_said(buckets: object, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        models("vertex/gemini-2.5-flash", buckets=buckets)


@pytest.mark.parametrize(
    ("buckets", "words"),
    [
        ({"input": "gs://lab/in"}, "buckets: `output` is missing"),
        (
            {**BUCKETS, "output": "lab/out"},
            r"buckets\.output: wanted an address such as gs://bucket/folder, found 'lab/out'",
        ),
        ({**BUCKETS, "output": "s3://lab/out"}, r"buckets\.output: vertex wants an address that begins with gs://"),
        ({**BUCKETS, "outptu": "gs://x"}, "unknown key 'outptu'; did you mean 'output'"),
        ("gs://lab", "buckets: wanted a mapping"),
    ],
)
def test_what_is_wrong_is_said(buckets: object, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        models("vertex/gemini-2.5-flash", buckets=buckets)
