"""A copy of a run (`--as`) takes over every answer whose question is still the same."""

from collections.abc import Iterator
from itertools import count

from overnight.core.errors import FileDamaged
from overnight.engine.session import Session
from overnight.ledger.copying import REUSED, Reusable, reusable
from overnight.ledger.ledger import look_at
from overnight.ledger.raw import RawFiles
from overnight.ledger.transaction import Transaction
from overnight.store.contract import Store, Writer
from overnight.store.run_folder import RunFolder


def reuse_answers(session: Session, source: RunFolder, *, leave_damaged: bool = False) -> int:
    """Copy the raw lines, then point to them: returns how many questions need not be asked.

    A line that is not the one on record is refused; with `leave_damaged`, its question is asked again.
    """
    files = session.folder.files
    with look_at(source) as origin:
        names = origin.files.paths()
        found = reusable(session.ledger.view().copies, origin.copies)
        file = files.put(_new_name(files, source.name))
        with file:
            copied = list(_copied(found, source.files, names, file, leave_damaged=leave_damaged))
    if not copied:
        files.remove(file.name)
        return 0
    at = session.clock.now()

    def fact(tx: Transaction) -> None:
        tx.copies.take_over(file, copied, source.name, at)

    session.ledger.write("reused", fact).result()
    return len(copied)


def _new_name(files: Store, source: str) -> str:
    """Never that of a file that is there: the same command again takes over what is new, and keeps what it has."""
    taken = {*files.names("raw")}
    names = (f"raw/{REUSED}{source}{f'-{number}' if number > 1 else ''}.jsonl" for number in count(1))
    return next(name for name in names if name not in taken)


def _copied(
    found: Iterator[Reusable], source: Store, names: dict[int, str], file: Writer, *, leave_damaged: bool
) -> Iterator[tuple[Reusable, int]]:
    """Each answer with its offset in the new file."""
    with RawFiles(source, names) as raw:
        for one in found:
            offset = file.size
            try:
                file.write(raw.read(one.file, one.offset, one.length, one.digest))
            except FileDamaged:
                if leave_damaged:
                    continue
                raise
            yield one, offset
