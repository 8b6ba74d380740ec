"""A study run with its files in a store of objects: what `run` does, but for where the files are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from overnight.api import Run
from overnight.api.plans.pricing import keep_prices, prices_of
from overnight.api.work import work_on
from overnight.core.ask import Ask
from overnight.engine.flow.intake import take_stage
from overnight.engine.session import Connect, Session
from overnight.engine.work import Work
from overnight.ledger.transaction import Transaction
from overnight.providers import vendor
from overnight.settings import settings
from overnight.store.bucket import BucketStore
from overnight.store.contract import Store
from overnight.store.names import CANCELLED, FILES, MOVED, SENT
from overnight.store.run_folder import RunFolder
from overnight.study import Study, resolve
from store.objects import ObjectStore


def run_on_objects(study: str, *, say: Callable[[str], None]) -> Run:
    return _run(study, ObjectStore(FILES, ()), ObjectStore((), (SENT, CANCELLED, MOVED)), say)


def run_on_a_bucket(study: str, url: str, *, say: Callable[[str], None]) -> Run:
    return _run(study, BucketStore(url, FILES), BucketStore(f"{url}/marks", (), (SENT, CANCELLED, MOVED)), say)


def _run(study: str, files: Store, marks: Store, say: Callable[[str], None]) -> Run:
    place, resolved = settings(runs="runs"), resolve(Study.load(Path(study)))
    folder = RunFolder(place.root / resolved.name)
    folder.files, folder.marks = files, marks
    known = prices_of(resolved)
    paces = {stage.name: stage.pace for stage in resolved.stages}
    work = Work(stages=paces, mode=resolved.mode, pacing=resolved.pacing, timeout=10**9)

    def encode(ask: Ask) -> bytes:
        return vendor(ask.arm.model.provider).format.encode(ask)

    def intake(tx: Transaction) -> None:
        for stage in resolved.stages:
            take_stage(tx, folder.files, stage, encode)
            keep_prices(tx, known, stage)

    def prepare(session: Session, _: Connect) -> None:
        if not session.ledger.view().stages.arms():
            session.ledger.write("intake", intake).result()

    return work_on(folder, place, work, prepare=prepare, say=say)
