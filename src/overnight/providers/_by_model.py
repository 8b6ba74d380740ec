"""What is worked out once for each model in use, and then looked up for every question."""

from collections.abc import Callable
from typing import Generic, TypeVar

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
