"""Files that a ledger puts beside those of another time: a newer ledger may come back, and wants its own."""

from __future__ import annotations

from ledger.stores import Run
from overnight.store.contract import Store

NEWER = b"what a newer ledger has on record\n"


def left(run: Run, content: bytes) -> None:
    for name in ("items/00001.jsonl", "requests/00001.jsonl"):
        with run.folder.files.put(name) as file:
            file.write(content)


def texts(run: Run) -> dict[str, bytes]:
    files = run.folder.files
    names = [name for part in ("items", "requests") for name in files.names(part)]
    return {name: _text(files, name) for name in names}


def _text(files: Store, name: str) -> bytes:
    with files.stream(name) as content:
        return content.read()


def test_a_file_of_other_bytes_is_left_alone(run: Run) -> None:
    left(run, NEWER)
    run.ask("a")
    assert texts(run) == {
        "items/00001.jsonl": NEWER,
        "items/00001-other2.jsonl": b'{"n":"a"}\n',
        "requests/00001.jsonl": NEWER,
        "requests/00001-other2.jsonl": b"a 0\n",
    }
    assert set(run.ledger.view().files.paths().values()) == {"items/00001-other2.jsonl", "requests/00001-other2.jsonl"}
    run.ask("b")
    assert {"items/00002.jsonl", "requests/00002.jsonl"} < texts(run).keys()


def test_nothing_new_touches_nothing(run: Run) -> None:
    left(run, NEWER)
    run.ask()
    assert texts(run) == {"items/00001.jsonl": NEWER, "requests/00001.jsonl": NEWER}
    assert run.ledger.view().files.paths() == {}


def test_what_a_killed_process_left_is_written_over(run: Run) -> None:
    left(run, b'{"n":"a"}\n')
    run.ask("a")
    assert "items/00001-other2.jsonl" not in texts(run)
