"""What accounts have taught: kept from run to run, in a file that is there once there is something in it."""

from pathlib import Path

import pytest

from overnight.engine.account_history import DEFAULT_TOKENS_PER_BYTE, AccountHistory
from overnight.providers import Endpoint, Provider, connected, vendor


@pytest.fixture
def provider() -> Provider:
    return connected(vendor("openai"), Endpoint(base_url="http://127.0.0.1:1/v1", key="any"))


def test_asking_leaves_no_file(tmp_path: Path, provider: Provider) -> None:
    memory = AccountHistory(tmp_path / "runs" / "accounts.db")
    assert memory.limits(provider) == {}
    assert memory.tokens_per_byte(provider, "m") == DEFAULT_TOKENS_PER_BYTE
    memory.remember_density(provider, "m", 0, 0)
    memory.close()
    assert list(tmp_path.iterdir()) == []


def test_what_was_learned_outlives_the_process(tmp_path: Path, provider: Provider) -> None:
    path = tmp_path / "runs" / "accounts.db"
    one, other = AccountHistory(path), AccountHistory(path)
    one.remember_limit(provider, "m", 90_000)
    one.remember_density(provider, "m", 2_000, 500)
    assert other.limits(provider)["m"].token_limit == 90_000
    assert other.tokens_per_byte(provider, "m") == 0.25
    assert other.tokens_per_byte(provider, "n") == DEFAULT_TOKENS_PER_BYTE
    one.close()
    other.close()


def test_a_few_bytes_are_no_measure(tmp_path: Path, provider: Provider) -> None:
    memory = AccountHistory(tmp_path / "accounts.db")
    memory.remember_density(provider, "m", 999, 999)
    assert memory.tokens_per_byte(provider, "m") == DEFAULT_TOKENS_PER_BYTE
    memory.remember_density(provider, "m", 1, 1)
    assert memory.tokens_per_byte(provider, "m") == 1.0
    memory.close()
