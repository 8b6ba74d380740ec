"""For all tests: a busy machine is slow, and that is no failure."""

from __future__ import annotations

from hypothesis import settings

from own_time import use_own_time

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
use_own_time()
