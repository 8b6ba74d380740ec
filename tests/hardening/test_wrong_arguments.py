"""Every parameter of every public function with every wrong kind of value: an answer, or one clear line of ours."""

from __future__ import annotations

import inspect
import random
import typing

import pytest

from hardening.calls import complaint_about, public_functions, sends, spoiled_calls
from hardening.conftest import Shell

SAMPLE = 700


@pytest.mark.filterwarnings("ignore")  # numpy's about odd numbers
def test_no_wrong_kind_ends_in_a_bare_error(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of some nine thousand; `make hardening` takes all."""
    monkeypatch.setenv("OVERNIGHT_EMULATE", "0")
    calls = [case for case in spoiled_calls() if not sends(case[0])]
    drawn = random.Random(0).sample(calls, SAMPLE)
    found = {name: told for name, call in drawn if (told := complaint_about(call)) is not None}
    assert found == {}


@pytest.mark.parametrize("public", public_functions(), ids=lambda public: public.name)
def test_every_public_function_checks_what_it_is_called_with(public: typing.Any) -> None:
    told = complaint_about(lambda: public.function(**public.good, nonsense=1))
    assert told is None
    function = inspect.unwrap(getattr(public.function, "__func__", public.function))
    if inspect.isfunction(function):
        assert typing.get_type_hints(function).keys() >= set(inspect.signature(public.function).parameters)
