"""Buckets: whose they are, how they are written, and what `google/` stands for."""

import pytest

from overnight.core.ask import Buckets, question_of
from overnight.core.errors import StudyError
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
