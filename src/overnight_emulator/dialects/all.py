"""Every dialect that the emulator speaks."""

from __future__ import annotations

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.anthropic import ANTHROPIC
from overnight_emulator.dialects.openai import OPENAI

DIALECTS: tuple[Dialect, ...] = (OPENAI, ANTHROPIC)
