"""A study of a size that nobody means is refused at once, with the number of questions that it makes."""

import time

import pytest

from overnight.api import plan
from overnight.study import resolve
from overnight.study.size import MOST_QUESTIONS
from study.writing import ANSWERS, JUDGING, a_study, changed, complaint, staged

_MOST = f"a stage asks at most {MOST_QUESTIONS:,}; ask fewer, or cut the study into several"


@pytest.mark.parametrize(
    ("study", "told"),
    [
        (
            a_study(items=[{"ID": f"S{number:03d}", "text": "one"} for number in range(200)], replicates=100_000),
            "replicates: 200 items x 1 arm x 100,000 replicates make 20,000,000 questions",
        ),
        (
            staged(changed(ANSWERS, replicates=50_000), changed(JUDGING, replicates=50_000)),
            "stages[1].replicates: 100,000 rows of 'answers' x 1 arm x 50,000 replicates make 5,000,000,000 questions",
        ),
        (
            a_study(
                task="compare",
                prompt=None,
                items=[{"ID": f"S{number:04d}", "text": "one"} for number in range(5_000)],
            ),
            "12,497,500 pairs x 1 arm x 1 replicate make 12,497,500 questions",
        ),
        (
            a_study(
                task="compare",
                prompt=None,
                items=[{"ID": f"S{number:04d}", "text": "one"} for number in range(2_000)],
                pairs={"select": "adaptive", "n": 1_000_000, "reverse": 1.0},
                replicates=100,
            ),
            "1,000,000 pairs x 2 arms x 100 replicates make 200,000,000 questions",
        ),
    ],
    ids=("replicates", "stages", "pairs", "adaptive"),
)
def test_a_study_that_is_far_too_large_is_refused_at_once(study, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun = time.process_time()
    assert complaint(lambda: plan(study)).endswith(f"{told}, and {_MOST}")
    assert time.process_time() - begun < 5
    assert list(tmp_path.iterdir()) == []


def test_groups_are_counted_as_what_they_become():
    """Of a hundred thousand answers to an item one question is made, not a hundred thousand."""
    study = staged(
        changed(ANSWERS, replicates=100_000), changed(JUDGING, prompt="{answers}", group="item", replicates=100)
    )
    assert len(resolve(study).stages) == 2
