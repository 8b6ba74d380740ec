"""What formats write requests with: what is worked out once for each model, and a walk through a JSON schema."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from overnight.core.ask import Model

_MOST_KEPT = 256
T = TypeVar("T")


class ByModel(Generic[T]):
    """Found by the model's identity: a Model holds dicts, so it has no hash."""

    def __init__(self, make: Callable[[Model], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._models: list[Model] = []

    def of(self, model: Model) -> T:
        made = self._made.get(id(model))
        return made if made is not None else self._keep(model)

    def _keep(self, model: Model) -> T:
        """The model is kept alive with what was made of it, so that its identity cannot pass to another meanwhile."""
        if len(self._models) >= _MOST_KEPT:
            self._made, self._models = {}, []
        self._models.append(model)
        made = self._made[id(model)] = self._make(model)
        return made


def objects_in(schema: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object with properties, at any depth, and the place it is at."""
    if isinstance(schema, list):
        for place, part in enumerate(schema):
            yield from objects_in(part, f"{where}[{place}]")
    if not isinstance(schema, dict):
        return
    fields = schema.get("properties")
    if isinstance(fields, dict):
        yield where, schema
        for name, part in fields.items():
            yield from objects_in(part, f"{where}.{name}")
    for word in ("items", "anyOf"):
        yield from objects_in(schema.get(word), f"{where}.{word}")
    for word in ("$defs", "definitions"):
        named = schema.get(word)
        for name, part in named.items() if isinstance(named, dict) else ():
            yield from objects_in(part, f"{where}.{word}.{name}")
