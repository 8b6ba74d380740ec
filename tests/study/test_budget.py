"""Money is read from the digits that were written."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.errors import UnknownName
from overnight.study import Budget, Study, resolve
from overnight.study.budget import read_budget
from overnight.study.document import parse_document
from overnight.study.origin import Origin
from study.writing import a_study, complaint, write

STAGES = ["answers", "judging"]


def in_a_file(text: str) -> Budget | None:
    value, origin = parse_document(f"budget: {text}\n", "s.yaml", Path())
    return read_budget(value["budget"], STAGES, origin)


def in_a_program(value) -> Budget | None:
    return read_budget(value, STAGES, Origin())


@pytest.mark.parametrize(
    ("written", "total"),
    [
        ("25", 25_000_000_000),
        ("0.1", 100_000_000),
        (".5", 500_000_000),
        ("1.", 1_000_000_000),
        ("+2", 2_000_000_000),
        ("1e-9", 1),
        ("2.5e2", 250_000_000_000),
        ("0x10", 16_000_000_000),
        ("0.10000000000000000000000000000000000", 100_000_000),
        # Both have digits that a float of that size has no place for.
        ("12345678.123456789", 12_345_678_123_456_789),
        ("8999999999.999999999", 8_999_999_999_999_999_999),
        ("9000000000", 9_000_000_000_000_000_000),
    ],
)
def test_a_number_is_the_total_to_the_last_digit(written, total):
    assert in_a_file(written) == Budget(total=total)


def test_more_can_be_said_in_a_mapping():
    found = in_a_file("{total: 25, stages: {judging: 0.3, answers: 10}, output_tokens: 800}")
    stages = {"judging": 300_000_000, "answers": 10_000_000_000}
    assert found == Budget(total=25_000_000_000, stages=stages, output_tokens=800)
    assert in_a_file("{stages: {judging: 10}}") == Budget(stages={"judging": 10_000_000_000})
    assert in_a_file("{output_tokens: 1}") == Budget(output_tokens=1)
    assert in_a_file("") is None


@pytest.mark.parametrize("value", [0.1, Decimal("0.1"), np.float64(0.1), {"total": 0.1}])
def test_a_program_may_use_any_number(value):
    assert in_a_program(value) == Budget(total=100_000_000)


@given(st.integers(1, 9 * 10**18))
def test_every_amount_can_be_written(nano):
    text = f"{nano // 10**9}.{nano % 10**9:09d}"
    assert in_a_file(text) == in_a_program(Decimal(text)) == Budget(total=nano)


@given(st.integers(1, 10**15 - 1))
def test_a_float_means_its_shortest_digits(nano):
    amount = Decimal(nano).scaleb(-9)
    assert in_a_program(float(amount)) == in_a_program(amount) == Budget(total=nano)


@settings(deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=3))
def test_anything_else_is_refused_in_words(value):
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (is_number and 1 <= value <= 9_000_000_000 and value == int(value)):
        assert (in_a_program(value) is None) == (value is None)
    elif not (is_number and 0 < value <= 9_000_000_000):
        # An error of any other kind would go through.
        assert complaint(lambda: in_a_program(value)).startswith("study: budget: ")


WANTED = "wanted a number of US dollars"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("0", "1:9: budget: 0 is not more than 0 dollars"),
        ("-5", "1:9: budget: -5 is not more than 0 dollars"),
        ("-0.25", "1:9: budget: -0.25 is not more than 0 dollars"),
        ("1e-99999999999999999999", "1:9: budget: 0.0 is not more than 0 dollars"),
        ("1e-10", "1:9: budget: 1E-10 has a part finer than a nano-dollar (0.000000001)"),
        ("0.1234567891", "1:9: budget: 0.1234567891 has a part finer than a nano-dollar (0.000000001)"),
        ("9000000000.000000001", "1:9: budget: this is more than 9,000,000,000 dollars"),
        (".inf", f"1:9: budget: {WANTED} or a mapping, found the number inf"),
        (".nan", f"1:9: budget: {WANTED} or a mapping, found the number nan"),
        ("1e400", f"1:9: budget: {WANTED} or a mapping, found the number inf"),
        ("$25", f"1:9: budget: {WANTED} or a mapping, found the text '$25'"),
        ("'25'", f"1:9: budget: {WANTED} or a mapping, found the text '25'"),
        ("true", f"1:9: budget: {WANTED} or a mapping, found true"),
        ("[25]", f"1:9: budget: {WANTED} or a mapping, found a list"),
        ("{}", "1:9: budget: it names none of total, stages and output_tokens"),
        ("{total: }", "1:9: budget: it names none of total, stages and output_tokens"),
        ("{totl: 1}", "1:10: budget: unknown key 'totl'; did you mean 'total'?"),
        ("{total: 0}", "1:17: budget.total: 0 is not more than 0 dollars"),
        ("{total: lots}", f"1:17: budget.total: {WANTED}, found the text 'lots'"),
        ("{stages: 5}", "1:18: budget.stages: wanted a mapping, found the number 5"),
        ("{stages: {judging: -1}}", "1:28: budget.stages.judging: -1 is not more than 0 dollars"),
        ("{stages: {judging: }}", f"1:27: budget.stages.judging: {WANTED}, found nothing"),
        ("{output_tokens: 0}", "1:25: budget.output_tokens: 0 is less than 1"),
        ("{output_tokens: 1.5}", "1:25: budget.output_tokens: wanted a whole number, found the number 1.5"),
        ("{output_tokens: true}", "1:25: budget.output_tokens: wanted a whole number, found true"),
    ],
)
def test_what_is_wrong_is_said(written, message):
    assert complaint(lambda: in_a_file(written)) == f"s.yaml:{message}"


def test_a_stage_must_be_there():
    wanted = (
        "s.yaml:1:18: budget.stages: there is no stage 'judgin'; did you mean 'judging'? (there are: answers, judging)"
    )
    assert complaint(lambda: in_a_file("{stages: {judgin: 1}}"), UnknownName) == wanted


def test_a_budget_reaches_the_run(tmp_path):
    (tmp_path / "prices.yaml").write_text("{}\n")
    path = write(
        tmp_path,
        """
        name: essay
        task: generate
        items: [{ID: S01, text: one}]
        prompt: "{text}"
        models: [openai/gpt-4.1]
        budget: {total: 12345678.123456789, stages: {generate: 3}}
        prices: prices.yaml
        """,
    )
    study = Study.load(path)
    resolved = resolve(study)
    assert resolved.budget == Budget(total=12_345_678_123_456_789, stages={"generate": 3_000_000_000})
    assert resolved.prices == tmp_path / "prices.yaml"
    assert (resolve(a_study()).budget, resolve(a_study()).prices) == (None, None)
    (tmp_path / "prices.yaml").unlink()
    assert complaint(lambda: resolve(study)) == f"{path}:7:9: prices: {tmp_path / 'prices.yaml'}: no such file"


def test_a_budget_that_was_put_in_place_of_the_file_s_counts(tmp_path):
    path = write(
        tmp_path,
        """
        name: essay
        task: generate
        items: [{ID: S01, text: one}]
        prompt: "{text}"
        models: [openai/gpt-4.1]
        budget: 25.5
        """,
    )
    more = Study.load(path).replace(budget=30.25)
    assert resolve(more).budget == Budget(total=30_250_000_000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 0}, "budget: 0 is not more than 0 dollars"),
        ({"budget": Decimal("NaN")}, f"budget: {WANTED} or a mapping, found the number NaN"),
        ({"budget": Budget(total=1)}, f"budget: {WANTED} or a mapping, found a Budget"),
        ({"prices": ""}, "prices: wanted the path of a file"),
        ({"prices": 5}, "prices: wanted text, found the number 5; put it in quotes"),
    ],
)
def test_a_study_is_checked_at_once(changes, message):
    assert complaint(lambda: a_study(**changes)) == f"study: {message}"
