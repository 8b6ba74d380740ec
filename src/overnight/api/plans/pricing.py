"""Prices for a study: found, kept with the run, and asked for where a budget needs them."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from overnight.consent.files import is_inside
from overnight.core.ask import Arm
from overnight.core.errors import StudyError
from overnight.core.opening import refuse_strange
from overnight.core.stage import Stage
from overnight.engine.decisions import Mode, first_processing
from overnight.ledger.transaction import Transaction, View
from overnight.prices import Price, PriceBook, Processing
from overnight.providers import vendor
from overnight.store.run_folder import RunFolder
from overnight.study import Resolved

PROCESSINGS: tuple[Processing, ...] = ("batch", "live")
PricesByArm = dict[tuple[str, str, Processing], Price]


def prices_of(resolved: Resolved) -> PricesByArm:
    """By stage, arm and processing; what has no known price is not in it."""
    return prices_for([arm for stage in resolved.stages for arm in stage.arms], resolved.prices)


def prices_for(arms: Iterable[Arm], file: Path | None = None) -> PricesByArm:
    """The same for some arms; `file` is the user's own."""
    book = PriceBook(file)
    wanted = ((arm, processing) for arm in arms for processing in PROCESSINGS)
    found = {(arm.stage, arm.name, processing): book.price(arm.model, processing) for arm, processing in wanted}
    return {place: price for place, price in found.items() if price is not None}


def processing_of(arm: Arm, mode: Mode) -> Processing:
    """How an arm is asked, as far as the mode and its provider say."""
    return first_processing(mode, vendor(arm.model.provider))


def check_prices(resolved: Resolved) -> None:
    """A budget can only be kept where costs have a known ceiling: said before anything is sent."""
    budget = resolved.budget
    if budget is None:
        return
    known = prices_of(resolved)
    for stage in resolved.stages:
        if budget.total is None and stage.name not in budget.stages:
            continue
        for arm in stage.arms:
            model = f"{arm.model.provider}/{arm.model.name}"
            if (arm.stage, arm.name, processing_of(arm, resolved.mode)) not in known:
                message = (
                    f"budget: no price is known for {model}; write one into a file, "
                    f"`{model}: {{input: 1.0, output: 4.0}}` (USD per million tokens), and name it with `prices:`"
                )
                raise StudyError(message)
            if arm.model.options.max_tokens is None and budget.output_tokens is None:
                message = (
                    f"budget: {model} has no max_tokens, so an answer could cost anything; give it one, "
                    "or write budget: {total: ..., output_tokens: 800} for the longest answer to expect"
                )
                raise StudyError(message)


def check_spill(resolved: Resolved) -> None:
    """A cap on what is finished live can only be kept where live calls have a known ceiling."""
    if resolved.spill.max_cost is None:
        return
    known = prices_of(resolved)
    bound = resolved.budget.output_tokens if resolved.budget is not None else None
    for arm in (arm for stage in resolved.stages for arm in stage.arms):
        if (arm.stage, arm.name, "live") not in known or not (arm.model.options.max_tokens or bound):
            message = (
                f"spill.max_cost: nobody can say what a live call to {arm.model.provider}/{arm.model.name} costs at "
                "most; give the model a `max_tokens`, and a price in a file that `prices:` names"
            )
            raise StudyError(message)


def keep_price_file(folder: RunFolder, given: Path | None) -> None:
    """The run has its own copy: it may be handed on, and a path in it would lead to somebody else's files."""
    folder.keep_prices(None if given is None else given.read_bytes())


def _is_near(file: Path, folder: RunFolder) -> bool:
    """Whether a file that a ledger names lies where the runs lie: a stranger's ledger may name any."""
    runs = folder.path.absolute().parent
    # Rehearsals lie in a folder of their own among the runs.
    project = runs.parent.parent if runs.name == ".rehearsal" else runs.parent
    return is_inside(Path(os.path.realpath(file)), Path(os.path.realpath(project)))


def prices_of_today(view: View, folder: RunFolder) -> dict[tuple[int, str], Price]:
    """What a run's arms cost by today's prices, and by the user's file as it is today, or as the run has it."""
    refuse_strange(folder.prices)
    named = view.facts.get("prices_file")
    today = Path(named) if named and _is_near(Path(named), folder) else folder.prices
    book = PriceBook(today if today.is_file() else None)
    wanted = ((number, arm, processing) for number, arm in view.stages.arms().items() for processing in PROCESSINGS)
    found = {(number, processing): book.price(arm.model, processing) for number, arm, processing in wanted}
    return {place: price for place, price in found.items() if price is not None}


def keep_prices(tx: Transaction, known: PricesByArm, stage: Stage) -> None:
    """The prices that rows will be settled with: those of the day the arm was first planned."""
    number = tx.stages.keep(stage.name, stage.task.name, stage.task.version)
    for arm in stage.arms:
        for processing in PROCESSINGS:
            price = known.get((arm.stage, arm.name, processing))
            if price is not None:
                tx.spending.keep_price(tx.stages.keep_arm(number, arm), processing, msgspec.json.encode(price).decode())
