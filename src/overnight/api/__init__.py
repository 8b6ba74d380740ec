"""The verbs as plain functions: they work in a script, in a notebook, and behind the command line."""

from overnight.api.cancelling import cancel, forget_batch, resolve_shard
from overnight.api.checking import BatchCheck
from overnight.api.costs import costs
from overnight.api.elsewhere.adopting import adopt
from overnight.api.keys import KeyStatus, keys
from overnight.api.models import ModelCard, Rates, models
from overnight.api.moving import Moved, pull, push
from overnight.api.plans.comparing import Comparison, ModelCost, compare_models
from overnight.api.plans.counting import ArmPlan
from overnight.api.plans.planned import Plan
from overnight.api.plans.previewing import plan
from overnight.api.report import Report, report
from overnight.api.running import resume, run, submit
from overnight.api.status import ArmStatus, RunStatus, audit_log, status, watch
from overnight.api.tables import rebuild, results, scan_results
from overnight.api.team import team
from overnight.api.verify import Finding, verify
from overnight.api.work import Run

__all__ = [
    "ArmPlan",
    "ArmStatus",
    "BatchCheck",
    "Comparison",
    "Finding",
    "KeyStatus",
    "ModelCard",
    "ModelCost",
    "Moved",
    "Plan",
    "Rates",
    "Report",
    "Run",
    "RunStatus",
    "adopt",
    "audit_log",
    "cancel",
    "compare_models",
    "costs",
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
    "status",
    "submit",
    "team",
    "verify",
    "watch",
]
