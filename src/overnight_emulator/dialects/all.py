"""Every dialect that the emulator speaks."""

from __future__ import annotations

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.anthropic import ANTHROPIC
from overnight_emulator.dialects.azure import AZURE
from overnight_emulator.dialects.bedrock import BEDROCK
from overnight_emulator.dialects.fireworks import FIREWORKS
from overnight_emulator.dialects.gemini import GEMINI
from overnight_emulator.dialects.groq import GROQ
from overnight_emulator.dialects.mistral import MISTRAL
from overnight_emulator.dialects.ollama import OLLAMA
from overnight_emulator.dialects.openai import OPENAI
from overnight_emulator.dialects.s3 import S3
from overnight_emulator.dialects.signed import SIGNED
from overnight_emulator.dialects.storage import STORAGE
from overnight_emulator.dialects.together import TOGETHER
from overnight_emulator.dialects.vertex import VERTEX
from overnight_emulator.dialects.xai import XAI

DIALECTS: tuple[Dialect, ...] = (
    *(OPENAI, ANTHROPIC, GEMINI, VERTEX, STORAGE, TOGETHER, OLLAMA, GROQ, AZURE, MISTRAL, FIREWORKS, XAI),
    *(BEDROCK, S3),
    SIGNED,
)


def environment(origin: str) -> dict[str, str]:
    """The variables that point every provider's SDK at the emulator, which listens there."""
    return {name: value for dialect in DIALECTS for name, value in dialect.environment(origin).items()}
