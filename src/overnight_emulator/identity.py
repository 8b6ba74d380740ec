"""Ids as a provider makes them: new ones are random, so that no two states share one."""

from __future__ import annotations

from uuid import uuid4


def new_id(prefix: str) -> str:
    return prefix + uuid4().hex
