import pandas as pd
import polars as pl
import pytest

from overnight.core.errors import StudyError
from overnight.rank import BadVerdicts, build_bt_data, build_elo_data, fit_bt_model
from overnight.rank.verdicts import as_frame

PAIRS = {"ID1": ["S1", "S1", "S2", "S2"], "ID2": ["S2", "S3", "S3", "S4"], "better_id": ["S1", "S3", None, "S9"]}


def test_winners_become_results_and_unreadable_ones_are_left_out():
    assert build_bt_data(PAIRS).rows() == [("S1", "S2", 1.0), ("S1", "S3", 0.0)]
    assert build_elo_data(PAIRS).rows() == [("S1", "S2"), ("S3", "S1")]


def test_the_second_naming_of_the_sides():
    renamed = pl.DataFrame(PAIRS).rename({"ID1": "A_id", "ID2": "B_id"})
    assert build_bt_data(renamed).equals(build_bt_data(PAIRS))


def test_verdict_words():
    table = pl.DataFrame(
        {
            "judge": ["j", "j", "k", "k", "k"],
            "first_id": [1, 2, 3, 1, 1],
            "second_id": [2, 3, 1, 2, 3],
            "verdict": ["first", "second", "tie", "unparsed", "none"],
        }
    )
    built = build_bt_data(table, keep=["judge"])
    assert built.rows() == [("1", "2", 1.0, "j"), ("2", "3", 0.0, "j"), ("3", "1", 0.5, "k")]
    assert build_elo_data(table).rows() == [("1", "2"), ("3", "2")]


def test_winner_ids_without_words():
    table = {"first_id": ["a", "b"], "second_id": ["b", "a"], "winner_id": ["a", "a"]}
    assert build_bt_data(table)["result"].to_list() == [1.0, 0.0]


def test_battles_of_models():
    words = ["model_a", "model_b", "tie", "tie (bothbad)", "x", "neither"]
    table = {"model_a": ["x"] * 6, "model_b": ["y"] * 6, "winner": words}
    assert build_bt_data(table)["result"].to_list() == [1.0, 0.0, 0.5, 0.5, 1.0]
    with pytest.raises(BadVerdicts, match="column 'winner' is missing; found: model_a, model_b, won"):
        build_bt_data({"model_a": ["x"], "model_b": ["y"], "won": ["x"]})


def test_the_models_own_form_passes_through():
    table = {"object1": ["a", "b"], "object2": ["b", "a"], "result": [1, 0.5]}
    assert build_bt_data(table)["result"].to_list() == [1.0, 0.5]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, lambda t: pl.DataFrame(t).lazy(), lambda t: t])
def test_any_table_will_do(make):
    assert build_bt_data(make(PAIRS)).height == 2


def test_rows_as_dicts_with_a_late_float():
    rows = [{"object1": "a", "object2": "b", "result": 1}] * 200 + [{"object1": "b", "object2": "a", "result": 0.5}]
    assert fit_bt_model(rows).n_comparisons == 201


def test_what_is_not_a_table_is_refused():
    with pytest.raises(BadVerdicts, match="a table was expected"):
        as_frame(object())


def test_the_nearest_column_is_offered():
    with pytest.raises(
        BadVerdicts, match="column 'better_id' is missing; found: ID1, ID2, betterid; did you mean 'betterid'"
    ):
        build_bt_data({"ID1": ["a"], "ID2": ["b"], "betterid": ["a"]})
    with pytest.raises(BadVerdicts, match="column 'ID2' is missing; found: ID1, id2, better_id; did you mean 'id2'"):
        build_bt_data({"ID1": ["a"], "id2": ["b"], "better_id": ["a"]})
    with pytest.raises(StudyError, match="column 'object1' is missing; found: Object1, object2, result"):
        fit_bt_model({"Object1": ["a"], "object2": ["b"], "result": [1]})
    with pytest.raises(
        BadVerdicts, match="column 'object1' is missing; found: Object1, Object2; did you mean 'Object1'"
    ):
        build_bt_data({"Object1": ["a"], "Object2": ["b"]})
    with pytest.raises(BadVerdicts, match=r"no two columns name the pair; wanted: ID1 and ID2, .*; found: x"):
        build_bt_data({"x": ["a"]})
