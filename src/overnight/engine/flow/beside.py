"""What a second stage said about what a row names: looked up when the row is handed over."""

from overnight.core.ask import Item
from overnight.core.stage import Beside, Stage
from overnight.engine.flow.threads import ThreadReader
from overnight.ledger.transaction import Transaction


class BesideAnswers:
    """For the rows of one step. An answer that is blank, cut short, refused or not there is none."""

    def __init__(self, beside: Beside, stage: Stage, reader: ThreadReader) -> None:
        self._beside = beside
        self._stage = stage
        self._reader = reader
        self._known: dict[str, str | None] = {}
        # The addresses whose answers went with a row.
        self.used: list[int] = []

    def joined(self, tx: Transaction, item: Item) -> Item | None:
        """The item with the answer that goes with it; None where there is no such answer."""
        name = item.fields.get(self._beside.by)
        if not isinstance(name, str):
            return None
        if name not in self._known:
            self._known[name] = self._answer(tx, name)
        answer = self._known[name]
        return None if answer is None else Item(item.id, {**item.fields, self._beside.field: answer})

    def _answer(self, tx: Transaction, name: str) -> str | None:
        for one, thread in self._reader.read(tx, tx.threads.last_about(self._stage.id, name), fields=False):
            last = thread.turns[-1]
            if last.outcome == "answered" and last.answer is not None and last.answer.strip():
                self.used.append(one.slot)
                return last.answer
        return None
