"""A study file: YAML 1.2 read node by node, so that every key and value knows its line and column."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from overnight.core.errors import StudyError
from overnight.study.origin import Mark, Origin, Route
from overnight.study.utf8 import read_text

# An alias may stand for a mapping that holds aliases: a few lines could unfold into billions of values.
_MOST_VALUES = 200_000
# Brackets within brackets. No study needs a tenth of it.
_DEEPEST = 100

_TAG = "tag:yaml.org,2002:"
_CORE_SCALARS = {
    "null": re.compile(r"|~|null|Null|NULL"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
    "merge": re.compile(r"<<"),
}


class _TooDeep(yaml.MarkedYAMLError):
    """It may well be YAML, but nobody waits for it."""


class _Loader(yaml.SafeLoader):
    """PyYAML's composer with the scalars of YAML 1.2: `no`, `on` and `1_000` are text."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - the parent's own kind of registry, emptied

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        """Each bracket costs the scanner a look at all that are open: a file of nothing else would take seconds."""
        if self.flow_level >= _DEEPEST:
            raise _TooDeep(problem="nested too deeply", problem_mark=self.get_mark())
        super().fetch_flow_collection_start(token)


for _kind, _pattern in _CORE_SCALARS.items():
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(rf"(?:{_pattern.pattern})\Z"), None)


class Document(NamedTuple):
    value: Any
    origin: Origin


def read_document(path: Path) -> Document:
    return parse_document(read_text(path), str(path), path.parent)


def parse_document(text: str, name: str, folder: Path) -> Document:
    reading = _Reading(name)
    try:
        node = yaml.compose(text, Loader=_Loader)
        value = None if node is None else reading.value(node, ())
    except yaml.MarkedYAMLError as error:
        place = _place(name, error.problem_mark or error.context_mark)
        wrong = "" if isinstance(error, _TooDeep) else "not YAML: "
        raise StudyError(f"{place}: {wrong}{error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise _unprintable(text, name, error.position) from None
    except RecursionError:
        raise StudyError(f"{name}: nested too deeply") from None
    except (ValueError, OverflowError):
        # The composer takes the number of an escape for a character without a look.
        raise StudyError(f'{name}: not YAML: an escape such as "\\UFFFFFFFF" is no character') from None
    if value is None:
        raise StudyError(f"{name}: the study is empty")
    return Document(value, Origin(name, folder, reading.keys, reading.values, reading.numbers, from_file=True))


class _Reading:
    """Turns nodes into plain values and notes where each of them stands."""

    def __init__(self, name: str) -> None:
        self.keys: dict[Route, Mark] = {}
        self.values: dict[Route, Mark] = {}
        # Money is read from the digits themselves: a float has no place for every cent.
        self.numbers: dict[Route, str] = {}
        self._name = name
        self._open: set[int] = set()
        self._count = 0

    def value(self, node: yaml.Node, route: Route) -> Any:
        self._count += 1
        if self._count > _MOST_VALUES:
            raise self._error(node, "the aliases stand for too many values")
        self.values.setdefault(route, _mark(node.start_mark))
        if isinstance(node, yaml.ScalarNode):
            if node.tag == _TAG + "float":
                self.numbers[route] = node.value
            return self._scalar(node)
        self._enter(node)
        if isinstance(node, yaml.MappingNode):
            found: Any = {}
            self._fill(node, route, found)
        else:
            found = [self.value(child, (*route, index)) for index, child in enumerate(node.value)]
        self._open.discard(id(node))
        return found

    def _enter(self, node: yaml.Node) -> None:
        if id(node) in self._open:
            raise self._error(node, "an alias inside its own anchor")
        if not node.tag.startswith(_TAG) or node.tag.removeprefix(_TAG) not in ("map", "seq"):
            raise self._error(node, f"the tag {_shown(node.tag)} has no meaning in a study")
        self._open.add(id(node))

    def _fill(self, node: yaml.MappingNode, route: Route, found: dict[str, Any]) -> None:
        """What is written in the mapping itself comes before what it merges in."""
        merged: list[yaml.Node] = []
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in lines:
                raise self._error(key_node, f"duplicate key '{key}', first given in line {lines[key]}")
            lines[key] = key_node.start_mark.line + 1
            if key_node.tag == _TAG + "merge":
                merged.append(value_node)
            elif key not in found:
                self.keys[*route, key] = _mark(key_node.start_mark)
                found[key] = self.value(value_node, (*route, key))
        for source in merged:
            self._merge(source, route, found)

    def _merge(self, source: yaml.Node, route: Route, found: dict[str, Any]) -> None:
        parts = source.value if isinstance(source, yaml.SequenceNode) else [source]
        for part in parts:
            if not isinstance(part, yaml.MappingNode):
                raise self._error(part, "<< takes a mapping or a list of mappings")
            self._enter(part)
            self._fill(part, route, found)
            self._open.discard(id(part))

    def _key(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag in (_TAG + "str", _TAG + "merge"):
            return str(node.value)
        written = f"; put {node.value} in quotes" if isinstance(node, yaml.ScalarNode) else ""
        raise self._error(node, f"a key must be text{written}")

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind in ("str", "merge"):
            return text
        if kind not in _CORE_SCALARS:
            raise self._error(node, f"the tag {_shown(node.tag)} has no meaning in a study")
        if not _CORE_SCALARS[kind].fullmatch(text):
            raise self._error(node, f"'{text}' is not written as {_shown(node.tag)} is")
        try:
            return _core_value(kind, text)
        except ValueError:
            raise self._error(node, "a number with too many digits") from None

    def _error(self, node: yaml.Node, message: str) -> StudyError:
        return StudyError(f"{_place(self._name, node.start_mark)}: {message}")


def _core_value(kind: str, text: str) -> Any:
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        case _:
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _mark(mark: yaml.Mark) -> Mark:
    return mark.line + 1, mark.column + 1


def _place(name: str, mark: yaml.Mark | None) -> str:
    return f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name


def _shown(tag: str) -> str:
    return tag.replace(_TAG, "!!")


def _unprintable(text: str, name: str, position: int) -> StudyError:
    before = text[:position]
    line, column = before.count("\n") + 1, position - before.rfind("\n")
    return StudyError(f"{name}:{line}:{column}: the character U+{ord(text[position]):04X} cannot stand in YAML")
