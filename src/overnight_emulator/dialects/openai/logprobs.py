"""Logprobs: how sure a simulated model was of each portion of its answer, drawn from the answer itself."""

from __future__ import annotations

import math
import re
from typing import Any

from overnight_emulator.chance import Chance

_TOKEN = re.compile(r"\s*\S{1,8}|\s+")
# What stands beside a token as what might have stood there.
_OTHERS = (" the", " a", " it", " this", " that", " no", " yes", " or", " and", " not", " so", " if", " as", " of",
           " in", " on", " at", " by", " to", " we")  # fmt: skip
MOST_TOP = 20


def logprobs_of(text: str, top: int, digest: bytes) -> list[dict[str, Any]]:
    """One entry for each token, with its `top` likeliest alternatives: itself first, then others less likely."""
    chance = Chance(0)
    found = []
    for place, match in enumerate(_TOKEN.finditer(text)):
        sure = 0.5 + 0.499 * chance.share("logprob", digest, place)
        rest = [(1 - sure) * 0.5**number for number in range(1, top)]
        tokens = zip((match.group(), *_OTHERS), (sure, *rest), strict=False)
        likely = [_entry(token, share) for token, share in list(tokens)[:top]]
        found.append({**_entry(match.group(), sure), "top_logprobs": likely})
    return found


def _entry(token: str, share: float) -> dict[str, Any]:
    return {"token": token, "logprob": round(math.log(share), 6), "bytes": list(token.encode("utf-8", "replace"))}
