"""Overnight: language-model evaluations in bulk, through half-price batch APIs.

import overnight as on

run = on.run("study.yaml")      # sends it, waits, survives anything
run.results()                   # a polars frame
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overnight.api import (
        Plan,
        Report,
        Run,
        RunStatus,
        adopt,
        audit_log,
        cancel,
        compare_models,
        costs,
        forget_batch,
        keys,
        models,
        plan,
        pull,
        push,
        rebuild,
        report,
        resolve_shard,
        results,
        resume,
        run,
        scan_results,
        status,
        submit,
        team,
        verify,
        watch,
    )
    from overnight.consent import allow
    from overnight.core.errors import OvernightError
    from overnight.serving.dashboard import serve
    from overnight.settings import emulate
    from overnight.study import Study

__version__ = "0.1.0"

__all__ = [
    "OvernightError",
    "Plan",
    "Report",
    "Run",
    "RunStatus",
    "Study",
    "adopt",
    "allow",
    "audit_log",
    "cancel",
    "compare_models",
    "costs",
    "emulate",
    "forget_batch",
    "keys",
    "models",
    "plan",
    "pull",
    "push",
    "rebuild",
    "report",
    "resolve_shard",
    "results",
    "resume",
    "run",
    "scan_results",
    "serve",
    "status",
    "submit",
    "team",
    "verify",
    "watch",
]

_HOMES = {
    "Study": "overnight.study",
    "OvernightError": "overnight.core.errors",
    "allow": "overnight.consent",
    "emulate": "overnight.settings",
    "serve": "overnight.serving.dashboard",
}


def __getattr__(name: str) -> Any:
    """Names are fetched when they are first used: importing Overnight costs next to nothing."""
    if name not in __all__:
        message = f"module 'overnight' has no attribute '{name}'"
        raise AttributeError(message)
    return getattr(import_module(_HOMES.get(name, "overnight.api")), name)


def __dir__() -> list[str]:
    return __all__
