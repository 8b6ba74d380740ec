"""The user's own prices: a YAML file of models and what their tokens cost, in dollars per million.

Figures are read as they are written, digit by digit: 0.1 is a tenth, not the nearest binary number.
"""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import yaml

from overnight.core.ask import Model
from overnight.core.errors import StudyError, nearest
from overnight.prices.catalogue import CATALOGUE_IDS
from overnight.prices.known_models import doubt_about
from overnight.prices.money import NANO_PER_DOLLAR
from overnight.prices.rates import KINDS, Rate, Tier

RATE_KEYS = (*KINDS, "request", "above")
ENTRY_KEYS = (*RATE_KEYS, "batch", "new")

_NUMBER = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][-+]?[0-9]{1,3})?")
# More than any model will cost for a million tokens: a figure above it is in another unit.
_MOST_DOLLARS = 1_000_000

_Fields = dict[str, tuple[yaml.Node, yaml.Node]]


class Entry(NamedTuple):
    """One line of the file. `batch` is a part of the standard price, or a price of its own."""

    pattern: str
    standard: Rate | None
    batch: Fraction | Rate | None


def find_entry(entries: Sequence[Entry], model: Model) -> Entry | None:
    """The line that says most about a model: the one with the fewest letters left open."""
    name = f"{model.provider}/{model.name}"
    fitting = [entry for entry in entries if _fits(entry.pattern, name)]
    return max(fitting, key=lambda entry: ("*" not in entry.pattern, len(entry.pattern.replace("*", ""))), default=None)


def _fits(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), name, re.DOTALL) is not None


def read_price_file(path: Path) -> tuple[Entry, ...]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError(f"{path}: not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_prices(text, str(path))


def parse_prices(text: str, name: str) -> tuple[Entry, ...]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise _Reading(name).error(error.problem_mark or error.context_mark, f"not YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise StudyError(f"{name}: the character U+{error.character:04X} cannot stand in YAML") from None
    except RecursionError:
        raise StudyError(f"{name}: nested too deeply") from None
    return () if node is None else tuple(_Reading(name).entries(node))


class _Reading:
    """Reads nodes, so that every complaint has a line and a column."""

    def __init__(self, name: str) -> None:
        self._name = name

    def error(self, place: yaml.Node | yaml.Mark | None, message: str) -> StudyError:
        mark = place.start_mark if isinstance(place, yaml.Node) else place
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        return StudyError(f"{self._name}{where}: {message}")

    def entries(self, node: yaml.Node) -> Iterable[Entry]:
        for pattern, (key, value) in self._fields(node, "models and their prices").items():
            provider, _, model = pattern.partition("/")
            if not provider or not model:
                raise self.error(key, f"wanted provider/model, as in openai/gpt-4.1 or ollama/*, found '{pattern}'")
            if provider not in CATALOGUE_IDS:
                self._check_provider(provider, key)
            fields = self._fields(value, "a mapping of prices", ENTRY_KEYS)
            if not self._is_new(fields):
                self._check_model(provider, model, key)
            yield self._entry(pattern, value, fields)

    def _check_provider(self, provider: str, key: yaml.Node) -> None:
        """A name that nobody has would be a price that is never used."""
        known = {*CATALOGUE_IDS, *(point.name for point in entry_points(group="overnight.providers"))}
        if provider not in known:
            listed = ", ".join(sorted(known))
            raise self.error(key, f"unknown provider '{provider}'{nearest(provider, known)} (known: {listed})")

    def _is_new(self, fields: _Fields) -> bool:
        """Whether the name is meant as it is, though it looks like that of a known model mistyped."""
        _, node = fields.pop("new", (None, None))
        if node is not None and (not isinstance(node, yaml.ScalarNode) or node.value not in ("true", "false")):
            raise self.error(node, "new: wanted true or false")
        return isinstance(node, yaml.ScalarNode) and node.value == "true"

    def _check_model(self, provider: str, model: str, key: yaml.Node) -> None:
        """A name that is a slip of another would be a price that is never used."""
        doubt = None if "*" in model else doubt_about(provider, model)
        if doubt is not None and doubt.slip:
            meant = "if it is a new model, say so: {new: true, input: ..., output: ...}"
            known = f"no model '{provider}/{model}' is known; did you mean '{provider}/{doubt.nearest}'?"
            raise self.error(key, f"{known} {meant}")

    def _entry(self, pattern: str, node: yaml.Node, fields: _Fields) -> Entry:
        if not fields:
            raise self.error(node, "no price is given")
        batch = fields.pop("batch", None)
        standard = self._rate(node, fields) if fields else None
        return Entry(pattern, standard, self._batch(batch[1]) if batch else None)

    def _batch(self, node: yaml.Node) -> Fraction | Rate:
        if isinstance(node, yaml.MappingNode):
            return self._rate(node, self._fields(node, "a mapping of prices", RATE_KEYS))
        factor = self._number(node, "batch")
        if factor > 1:
            raise self.error(node, f"batch is a part of the standard price, such as 0.5; found {node.value}")
        return factor

    def _rate(self, node: yaml.Node, fields: _Fields) -> Rate:
        above = fields.pop("above", None)
        amounts = self._amounts(node, fields)
        request = amounts.pop("request", None)
        return Rate(**amounts, request=request, tiers=self._tiers(above[1]) if above else ())

    def _tiers(self, node: yaml.Node) -> tuple[Tier, ...]:
        tiers: dict[int, Tier] = {}
        for written, (key, value) in self._fields(node, "token counts and their prices").items():
            if not re.fullmatch(r"[0-9]{1,12}", written):
                raise self.error(key, f"wanted a number of input tokens, such as 200000, found '{written}'")
            if int(written) in tiers:
                raise self.error(key, f"{int(written)} is given twice")
            amounts = self._amounts(value, self._fields(value, "a mapping of prices", KINDS))
            tiers[int(written)] = Tier(above_input_tokens=int(written), **amounts)
        return tuple(tiers[start] for start in sorted(tiers))

    def _amounts(self, node: yaml.Node, fields: _Fields) -> dict[str, int]:
        for needed in ("input", "output"):
            if needed not in fields:
                raise self.error(node, f"a price needs both input and output; {needed} is missing")
        return {name: self._nano_dollars(value, name) for name, (_, value) in fields.items()}

    def _fields(self, node: yaml.Node, wanted: str, known: Sequence[str] = ()) -> _Fields:
        """The keys of a mapping, each with its own node and its value's; no key at all is known, or only these."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"wanted {wanted}")
        fields: _Fields = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.error(key, "a key must be text")
            if known and key.value not in known:
                choices = ", ".join(known)
                raise self.error(key, f"unknown key '{key.value}'{nearest(key.value, known)} (known: {choices})")
            if key.value in fields:
                first = fields[key.value][0].start_mark.line + 1
                twice = "is priced twice" if "/" in key.value else "is given twice"
                raise self.error(key, f"'{key.value}' {twice}, first in line {first}; keep one of them")
            fields[key.value] = (key, value)
        return fields

    def _nano_dollars(self, node: yaml.Node, field: str) -> int:
        nano = self._number(node, field) * NANO_PER_DOLLAR
        if nano > _MOST_DOLLARS * NANO_PER_DOLLAR:
            raise self.error(node, f"{node.value} dollars: prices are for a million tokens")
        if nano.denominator != 1:
            raise self.error(node, f"{node.value} is finer than a billionth of a dollar")
        return nano.numerator

    def _number(self, node: yaml.Node, field: str) -> Fraction:
        if not isinstance(node, yaml.ScalarNode) or node.style is not None or not _NUMBER.fullmatch(node.value):
            found = f", found '{node.value}'" if isinstance(node, yaml.ScalarNode) else ""
            raise self.error(node, f"wanted a number{found}")
        number = Fraction(node.value)
        if number < 0:
            unit = "a part of the standard price" if field == "batch" else "dollars"
            raise self.error(node, f"{field}: wanted {unit}, 0 or more, found {node.value}")
        return number
