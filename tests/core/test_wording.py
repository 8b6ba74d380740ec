from overnight.core.wording import number_of


def test_numbers_of_things() -> None:
    assert number_of(1, "row") == "1 row"
    assert number_of(0, "row") == "0 rows"
    assert number_of(1_200, "batch", "batches") == "1,200 batches"
