"""Telling people that a run has come to rest: whom, what, and how it reaches them."""

from overnight.notifying.target import DESKTOP, MOST_TARGETS, Target, check_targets, grant_targets
from overnight.notifying.telling import Ending, check_service, tell_all

__all__ = [
    "DESKTOP",
    "MOST_TARGETS",
    "Ending",
    "Target",
    "check_service",
    "check_targets",
    "grant_targets",
    "tell_all",
]
