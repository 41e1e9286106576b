"""YAML as a person wrote it: plain data, with the line of each part."""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from shared.contracts.origin import Origin

Path = tuple[str | int, ...]
"""The way to a value: keys of mappings and positions in lists."""

MAX_BYTES = 1_048_576
MAX_NODES = 50_000
"""Every use of an alias counts, so a small text cannot expand into a huge one."""


@dataclass(frozen=True, slots=True)
class YamlText:
    """The data of a text, and the line (from 1) of the values in it."""

    data: object
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest part around it that is in the text."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def place(self, path: Path) -> str:
        """The place of a value for people; data without a text has no lines."""
        return f"line {self.line(path)}: {spell_path(path)}" if self.lines else spell_path(path)


def spell_path(path: Path) -> str:
    """A path as people read it: `steps[1].subtasks[0].timeout`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "the whole"


def read_yaml(text: str, origin: Origin) -> YamlText:
    """The text's data. Raises the origin's error for what is not one plain YAML document.

    A duplicate key is an error, because one of its values would be lost silently.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise origin.error(f"larger than {MAX_BYTES} bytes")
    loader: yaml.SafeLoader | None = None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            raise origin.error("empty")
        lines: dict[Path, int] = {}
        _survey(node, (), (), lines, origin)
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise origin.error(_describe(error)) from error
    except (yaml.YAMLError, ValueError) as error:
        raise origin.error(f"not readable as YAML: {error}") from error
    except RecursionError as error:
        raise origin.error("nested too deeply") from error
    finally:
        if loader is not None:
            loader.dispose()
    return YamlText(data, lines)


def _describe(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
    return f"{place}not readable as YAML: {error.problem or error.context}"


def _survey(
    node: yaml.Node,
    path: Path,
    around: tuple[yaml.Node, ...],
    lines: dict[Path, int],
    origin: Origin,
) -> None:
    if node in around:
        raise origin.error(f"line {node.start_mark.line + 1}: {spell_path(path)} contains itself")
    if len(lines) >= MAX_NODES:
        raise origin.error(f"more than {MAX_NODES} values")
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            _survey(item, (*path, position), (*around, node), lines, origin)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = _key(key, path, origin)
            if (*path, name) in lines:
                raise origin.error(
                    f"line {key.start_mark.line + 1}: {spell_path((*path, name))} stands twice"
                )
            _survey(value, (*path, name), (*around, node), lines, origin)


def _key(node: yaml.Node, path: Path, origin: Origin) -> str:
    place = f"line {node.start_mark.line + 1}: {spell_path(path)}"
    if not isinstance(node, yaml.ScalarNode):
        raise origin.error(f"{place}: a key has to be a word")
    if node.tag == "tag:yaml.org,2002:merge":
        raise origin.error(f"{place}: merging with << is not known here; write the keys out")
    return str(node.value)
