"""Every dialect that the emulator speaks."""

from __future__ import annotations

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.anthropic import ANTHROPIC
from overnight_emulator.dialects.gemini import GEMINI
from overnight_emulator.dialects.ollama import OLLAMA
from overnight_emulator.dialects.openai import OPENAI
from overnight_emulator.dialects.storage import STORAGE
from overnight_emulator.dialects.together import TOGETHER
from overnight_emulator.dialects.vertex import VERTEX

DIALECTS: tuple[Dialect, ...] = (OPENAI, ANTHROPIC, GEMINI, VERTEX, STORAGE, TOGETHER, OLLAMA)
