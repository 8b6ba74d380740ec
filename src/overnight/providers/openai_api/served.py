"""How a server serves OpenAI's API, as data: what differs from vendor to vendor."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from overnight.core.ask import Model
from overnight.providers.contract import ReadRates
from overnight.providers.openai_api.batches import Shape
from overnight.providers.openai_api.live import rates_of

# What OpenAI wants beside a file, and beside a batch's input and endpoint.
UPLOAD_FIELDS: Mapping[str, str] = MappingProxyType({"purpose": "batch"})
CREATE_FIELDS: Mapping[str, str] = MappingProxyType({"completion_window": "24h"})


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is called live, and how its key is tried."""

    name: str
    # The path for a model's questions, below the base URL.
    path: Callable[[Model], str]
    models_path: str = "/models"
    models_query: Mapping[str, str] = {}
    # What a key that works has proved.
    proved: str = "answers"
    rates: ReadRates = rates_of


class Batches(msgspec.Struct, frozen=True, kw_only=True):
    """How a server takes batches."""

    shape: Shape
    # What a create names as the endpoint of a model's questions.
    endpoint: Callable[[Model], str]
    files_path: str = "/files"
    upload_path: str | None = None
    batches_path: str = "/batches"
    upload_fields: Mapping[str, str] = UPLOAD_FIELDS
    # Fields of a create beside the input, the endpoint and our token.
    create_fields: Callable[[Model], Mapping[str, str | int]] = lambda _: CREATE_FIELDS
    # Whether a batch can carry metadata, and our token with it; its input tells whose it is as well.
    metadata: bool = True
    retention_days: int | None = None
