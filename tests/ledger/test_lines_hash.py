"""Files of lines are known by the digests of their lines: whatever changes in them is found, and old records hold."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import KEY_SCHEME, Arm, Ask, KeyMaker, Message, Model, messages_json, question_of
from overnight.ledger.raw import LinesHash, digest_of, file_problem
from overnight.providers import vendor
from overnight.store.contract import hash_of
from overnight.store.local import LocalStore

LINES = [b'{"a":1}', b'{"b":"x y"}', b"{}"]


def kept(folder: Path, lines: list[bytes]) -> tuple[LocalStore, int, str]:
    store, marks = LocalStore(folder, ("requests",)), LinesHash()
    store.prepare()
    with store.put("requests/1.jsonl") as file:
        for line in lines:
            marks.add([digest_of(line)])
            file.write_lines([line])
    assert file.sha256 == hash_of(store, file.name), "whoever wants the hash of the bytes gets that"
    return store, file.size, marks.text


def test_a_file_of_lines_is_known_by_them(tmp_path: Path) -> None:
    store, size, text = kept(tmp_path, LINES)
    assert file_problem(store, "requests/1.jsonl", size, text) is None
    assert file_problem(store, "requests/1.jsonl", size, hash_of(store, "requests/1.jsonl")) is None, "as it used to be"


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"a":1}\n{"b":"x z"}\n{}\n',
        b'{"b":"x y"}\n{"a":1}\n{}\n',
        b'{"a":1}\n{"b":"x\ny"}\n{}\n',
        b'{"a":1} {"b":"x y"}\n{}\n',
    ],
)
def test_every_change_is_found(tmp_path: Path, damaged: bytes) -> None:
    store, size, text = kept(tmp_path, LINES)
    assert len(damaged) == size
    (tmp_path / "requests/1.jsonl").write_bytes(damaged)
    assert file_problem(store, "requests/1.jsonl", size, text) == "has other bytes than those on record"


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text()), max_size=4), st.integers(0, 99))
def test_words_that_are_encoded_once_give_the_key_and_the_body_that_they_always_gave(
    said: list[tuple[str, str]], vote: int
) -> None:
    messages = tuple(Message(role, text) for role, text in said)  # type: ignore[arg-type]
    arm = Arm(stage="s", name="a", template="t", model=Model(provider="openai", name="gpt-4.1-mini"))
    ask = Ask(arm=arm, item="1", messages=messages, vote=vote)
    whole = msgspec.json.Encoder(order="deterministic").encode([messages, vote])
    assert b"[%b,%d]" % (messages_json(messages), vote) == whole
    assert KeyMaker(arm).key(ask) == _key(arm, whole)
    body = msgspec.json.decode(vendor("openai").format.encode(ask))
    assert [(turn["role"], turn["content"]) for turn in body["messages"]] == [
        (turn.role, turn.content) for turn in messages
    ]


def _key(arm: Arm, question: bytes) -> bytes:
    state = blake2b(KEY_SCHEME, digest_size=16)
    state.update(question_of(arm.model) + question)
    return state.digest()
