"""Prices for a study: found, kept with the run, and asked for where a budget needs them."""

import sqlite3
from pathlib import Path

import msgspec

from overnight.core.ask import Arm
from overnight.core.errors import StudyError
from overnight.ledger.identity import arm_id, arms, get_fact, stage_id
from overnight.ledger.money import keep_price
from overnight.prices import Price, PriceBook
from overnight.study import Resolved, ResolvedStage


def prices_of(resolved: Resolved) -> dict[str, Price]:
    """By `stage/arm`; an arm without a known price is not in it."""
    book = PriceBook(resolved.prices)
    found: dict[str, Price] = {}
    for stage in resolved.stages:
        for arm in stage.arms:
            price = book.price(arm.model, "batch")
            if price is not None:
                found[_name(arm)] = price
    return found


def _name(arm: Arm) -> str:
    return f"{arm.stage}/{arm.name}"


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
            if _name(arm) not in known:
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


def prices_of_today(db: sqlite3.Connection) -> dict[int, Price]:
    """What a run's arms cost by today's prices, and by the user's file if it is still there."""
    named = get_fact(db, "prices_file")
    book = PriceBook(Path(named) if named and Path(named).exists() else None)
    found = {number: book.price(arm.model, "batch") for number, arm in arms(db).items()}
    return {number: price for number, price in found.items() if price is not None}


def keep_prices(db: sqlite3.Connection, resolved: Resolved, stage: ResolvedStage) -> None:
    """The prices that rows will be settled with: those of the day the arm was first planned."""
    known = prices_of(resolved)
    number = stage_id(db, stage.name, stage.task.name, stage.task.version)
    for arm in stage.arms:
        price = known.get(_name(arm))
        if price is not None:
            keep_price(db, arm_id(db, number, arm), msgspec.json.encode(price).decode())
