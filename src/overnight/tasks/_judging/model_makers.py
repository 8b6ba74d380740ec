"""Who made a model: judges may favour the models of their own maker, wherever either of them runs."""

import re

# How models' own names begin, by their makers. A name may stand behind those of providers and organisations.
_MAKERS = {
    "openai": r"gpt|chatgpt|o\d\b|davinci|text-davinci",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm",
    "meta": r"(?:meta-)?llama",
    "qwen": r"qwen|qwq",
    "deepseek": r"deepseek",
    "mistral": r"mistral|mixtral|ministral|magistral|codestral|pixtral|open-mistral|open-mixtral",
    "xai": r"grok",
    "cohere": r"command|c4ai",
    "microsoft": r"phi\b|phi-",
    "moonshot": r"kimi",
    "zhipu": r"glm",
}
_PATTERNS = {maker: re.compile(rf"(?:{names})", re.IGNORECASE) for maker, names in _MAKERS.items()}
# Providers of one maker's models, which may bear any name.
_HOUSES = {"gemini": "google", "vertex": "google"}


def maker_of(name: str) -> str:
    """Of `openai/gpt-4.1`, `gpt-4.1-2025-04-14` or `together/Qwen/Qwen3-235B`; where nobody can tell, what comes first.

    `bedrock/anthropic.claude-3` is Anthropic's: the provider's word for a model may begin with its maker's.
    """
    parts = name.partition(" (")[0].split("/")
    own = re.split(r"(?:^|\.)(?=[A-Za-z])", parts[-1])
    for piece in (parts[-1], *own):
        for maker, pattern in _PATTERNS.items():
            if pattern.match(piece):
                return maker
    return _HOUSES.get(parts[0], parts[0])
