"""Studies: what a researcher writes, and what it comes to."""

from overnight.core.handed_on import HANDED_ON
from overnight.core.money import Budget
from overnight.study.arms import Grid, GridRule
from overnight.study.identity import definition_on_record, differences, differences_from
from overnight.study.items import ItemSource
from overnight.study.models import ModelEntry
from overnight.study.pace import BatchSettings, LiveSettings, PollSettings, SpillSettings, pacing_of
from overnight.study.prompts import TemplateEntry
from overnight.study.resolved import Resolved, definition, resolve
from overnight.study.study import Study

__all__ = [
    "HANDED_ON",
    "BatchSettings",
    "Budget",
    "Grid",
    "GridRule",
    "ItemSource",
    "LiveSettings",
    "ModelEntry",
    "PollSettings",
    "Resolved",
    "SpillSettings",
    "Study",
    "TemplateEntry",
    "definition",
    "definition_on_record",
    "differences",
    "differences_from",
    "pacing_of",
    "resolve",
]
