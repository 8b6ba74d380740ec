"""Lines of input files are put together from a frame; the provider's own word for a line is `line`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Model
from overnight.core.shard import custom_id, token_of
from overnight.engine.batch.outbox import frame_of
from overnight.providers import BatchFormat, batch_format, takes_batches, vendor, vendors

TAKING = sorted(name for name, one in vendors().items() if takes_batches(one))
TOKEN = token_of("run", "stage", "arm", 1, 1)


def _format(name: str) -> BatchFormat:
    return batch_format(vendor(name))


@pytest.mark.parametrize("name", TAKING)
@given(number=st.integers(0, 999_999_999), body=st.binary())
def test_a_framed_line_is_the_providers_own(name: str, number: int, body: bytes) -> None:
    provider, model = _format(name), Model(provider=name, name="any-model")
    before, between, after = frame_of(provider, model, TOKEN)
    framed = b"".join((before, str(number).encode(), between, body, after))
    assert framed == provider.line(model, custom_id(TOKEN, number), body) + b"\n"


class _BodyFirst(type(_format("openai"))):  # type: ignore[misc] - any provider will do
    def line(self, _: Model, name: str, body: bytes) -> bytes:
        return body + name.encode()


def test_lines_that_cannot_be_framed_are_a_fault_of_the_provider() -> None:
    with pytest.raises(AssertionError, match="openai: lines of a model differ"):
        frame_of(_BodyFirst(), Model(provider="openai", name="m"), TOKEN)
