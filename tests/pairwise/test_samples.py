import pandas as pd
import polars as pl
import pytest

from overnight.core.errors import StudyError
from overnight.pairwise import example_writing_samples, read_samples_df, read_samples_dir

TABLE = {"name": [7, 8], "essay": ["one", "two"], "age": [9, 10]}


@pytest.mark.parametrize(
    "table", [pl.DataFrame(TABLE), pd.DataFrame(TABLE), TABLE], ids=["polars", "pandas", "columns"]
)
def test_columns_by_number_or_name(table):
    for columns in ((1, 2), ("name", "essay")):
        samples = read_samples_df(table, *columns)
        assert samples.to_dict(as_series=False) == {"ID": ["7", "8"], "text": ["one", "two"], "age": [9, 10]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("nam", 2), "id_col: there is no column 'nam'; the columns are name, essay, age; did you mean 'name'?"),
        ((1, 4), "text_col: 4 is not between 1 and 3, the number of columns"),
    ],
)
def test_columns_that_are_not_there(columns, message):
    with pytest.raises(StudyError) as caught:
        read_samples_df(TABLE, *columns)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("ids", "message"), [(["a", "a"], "the id 'a' is used more than once"), (["a", ""], "row 2 has no id")]
)
def test_ids_are_there_and_unique(ids, message):
    with pytest.raises(StudyError, match=message):
        read_samples_df({"ID": ids, "text": ["x", "y"]})


def test_a_folder_of_texts(tmp_path):
    for name in ("b.txt", "a.txt", "notes.md"):
        (tmp_path / name).write_text(name)
    assert read_samples_dir(tmp_path).rows() == [("a", "a.txt"), ("b", "b.txt")]
    assert read_samples_dir(tmp_path, r"\.md$").rows() == [("notes", "notes.md")]
    with pytest.raises(StudyError, match=r"no file in .* fits the pattern"):
        read_samples_dir(tmp_path, "nope")
    with pytest.raises(StudyError, match="there is no folder"):
        read_samples_dir(tmp_path / "nope")


def test_the_samples_that_come_along_rise_in_quality():
    samples = example_writing_samples()
    assert samples.columns == ["ID", "text", "quality"]
    assert samples["quality"].to_list() == list(range(1, 21))
    assert samples["ID"].n_unique() == samples["text"].n_unique() == 20
