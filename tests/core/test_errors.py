from __future__ import annotations

import inspect

from overnight.core import errors


def test_every_class_is_drawn_in_the_tree() -> None:
    tree = errors.__doc__ or ""
    classes = [name for name, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert len(classes) > 15
    for name in classes:
        assert name in tree, name
        assert getattr(errors, name).__doc__


def test_families_have_their_exit_codes() -> None:
    codes = {errors.StudyError: 2, errors.RowsFailed: 3, errors.ProviderError: 4, errors.BudgetExceeded: 5}
    assert {kind: kind.exit_code for kind in codes} == codes
    assert errors.AccountChanged("x").exit_code == 4
    assert errors.RunBusy("x").exit_code == 2


def test_the_nearest_name_is_offered_or_nothing() -> None:
    assert errors.nearest("modles", ["models", "items"]) == "; did you mean 'models'?"
    assert errors.nearest("zzz", ["models", "items"]) == ""
