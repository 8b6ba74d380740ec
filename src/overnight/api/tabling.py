"""A run's tables, made from its ledger and raw files: at the end of every pass, and by `rebuild`."""

from collections.abc import Mapping, Sequence

from overnight.api.on_record import stages_on_record
from overnight.core.ask import Arm
from overnight.core.task import Rounds, Task
from overnight.ledger.transaction import View
from overnight.providers import vendor
from overnight.store.run_folder import RunFolder
from overnight.tables.attempts import write_attempts
from overnight.tables.costs import write_costs
from overnight.tables.rankings import write_rankings
from overnight.tables.results import Decode, ResultsTable
from overnight.tables.verdicts import write_verdicts


def decoders(its_arms: Sequence[Arm]) -> dict[str, Decode]:
    """Each provider's reader; none of them needs a key."""
    names = {arm.model.provider for arm in its_arms}
    return {name: vendor(name).format.decode for name in sorted(names)}


def write_tables(view: View, folder: RunFolder, tasks: Mapping[str, Task | Rounds] | None = None) -> int:
    """Every table of a run; returns the number of rows. Tasks are opened from the ledger unless handed in."""
    opened = {stage.name: stage.task for stage in stages_on_record(view, tasks)}
    known = list(view.stages.arms().values())
    results, verdicts = folder.tables / "results.parquet", folder.tables / "verdicts.parquet"
    rows = ResultsTable(view, folder.files, opened, decoders(known)).write(results)
    if write_verdicts(results, verdicts):
        adaptive = {name for name, task in opened.items() if isinstance(task, Rounds)}
        write_rankings(verdicts, folder.tables / "rankings.parquet", adaptive)
    write_attempts(view, folder.tables / "attempts.parquet")
    write_costs(view, folder.tables / "costs.parquet")
    return rows
