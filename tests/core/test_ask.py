from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Arm, Ask, KeyMaker, Message, Model, Options, key_text

MODEL = Model(provider="openai", name="gpt-4.1", options=Options(temperature=0.5, extra={"b": 1, "a": 2}))
ARM = Arm(stage="s", name="a", template="t", model=MODEL)


def key(text: str = "hi", *, arm: Arm = ARM, shared: bool = True, **fields: int | str) -> bytes:
    ask = Ask(**{"arm": arm, "item": "i", "messages": (Message("user", text),), **fields})
    return KeyMaker(arm).key(ask, shared=shared)


def model(**change: object) -> Arm:
    return msgspec.structs.replace(ARM, model=msgspec.structs.replace(MODEL, **change))


def options(**change: object) -> Arm:
    return model(options=msgspec.structs.replace(MODEL.options, **change))


def test_the_key_is_pinned() -> None:
    # Changing this string means that no answer of an older run is reused: then change KEY_SCHEME too.
    assert key_text(key()) == "a1" + key().hex()
    assert len(key()) == 16


def test_what_defines_the_question_is_in_the_key() -> None:
    others = [
        key("ho"),
        key(vote=1),
        key(arm=model(name="gpt-4.1-mini")),
        key(arm=model(provider="azure")),
        key(arm=model(base_url="http://elsewhere")),
        key(arm=options(temperature=0.6)),
        key(arm=options(json_schema={"type": "object"})),
        key(arm=options(extra={"a": 2, "b": 2})),
        key(arm=options(max_tokens=5)),
        key(arm=options(thinking="low")),
    ]
    assert len({key(), *others}) == len(others) + 1


def test_where_and_by_whom_is_not() -> None:
    assert key() == key(item="j") == key(replicate=3) == key(turn=2)
    assert key() == key(arm=model(key="LAB_KEY"))
    assert key() == key(arm=options(extra={"a": 2, "b": 1}))
    assert key() == key(arm=msgspec.structs.replace(ARM, name="other", template="other"))


def test_unshared_addresses_are_questions_of_their_own() -> None:
    assert key(shared=False) != key(shared=False, item="j")
    assert key(shared=False) == key(shared=False)


@given(texts=st.lists(st.text(), min_size=2, max_size=4, unique=True))
def test_messages_do_not_run_into_each_other(texts: list[str]) -> None:
    maker = KeyMaker(ARM)
    split = Ask(arm=ARM, item="i", messages=tuple(Message("user", text) for text in texts))
    joined = Ask(arm=ARM, item="i", messages=(Message("user", "".join(texts)),))
    assert maker.key(split) != maker.key(joined)
