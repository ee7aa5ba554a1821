"""Which file of a crate uses which, by the paths in its code; and the circles among files.

A node is a file of a crate's ``src``, an arrow is a path that leads from it to an item of another file. These rules make an arrow:

* A path counts in a ``use``; with ``every_path`` wherever it is written, in a type or a call. It begins with ``crate``, ``self``, ``super`` or a
  child module.
* A path leads to the file that *defines* the item: re-exports, and names that a module has imported, are followed. ``super::sibling::X`` is an
  arrow to the sibling, not to the parent; ``crate::parent::X`` is one to the child when the parent re-exports ``X`` from there.
* ``mod child;`` is no arrow, and neither is a re-export (``pub use child::X``) as such. It is one when the code of the parent names ``X``, too.
* A child that names an item of its parent's own file is an arrow to the parent.
* Tests (``#[cfg(test)] mod tests``), comments and strings do not count, nor do files below ``bin``.

A parent that re-exports its children, whose children import each other in one direction, is therefore free of circles. A parent whose code calls a
child that imports types from it is a circle: the types belong into a file that both import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

Module = tuple[str, ...]
#: What a path begins with, and its segments, or a list in braces behind them.
PATH = re.compile(r"(?<![\w:])((?:r#)?[a-z_]\w*)\s*::\s*((?:\w+\s*::\s*)*)(\w+|\{|\*)")
USE = re.compile(r"(?:^|(?<=[;{}\n]))\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
DEFINED = re.compile(r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!|mod)\s+(\w+)")
#: What is no code: a comment, or a literal with characters in it. In one expression, because each of them may hold what begins another.
TEXT = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?<!\w) [bc]?r (?P<marks>\#*) ".*?" (?P=marks)   # a raw string
    | (?<!\w) [bc]? "(?:[^"\\]|\\.)*"                   # a string
    | (?<!\w) b? '(?:[^'\\\n]|\\(?:u\{\w+\}|x..|.))'    # a character, and no lifetime
    """,
    re.VERBOSE | re.DOTALL,
)
TESTS = re.compile(r"^#\[cfg\((?:all\()?test\b.*\]\n(?:[ \t]*\n|#.*\n)*(?:pub )?mod tests \{", re.MULTILINE)


def stripped(text: str) -> str:
    """Code without comments, without what is in strings, and without tests."""
    text = TEXT.sub(lambda found: " " if found["comment"] else '""', text)
    return re.sub(r"\bpub\(in [^)]*\)", "", TESTS.split(text, maxsplit=1)[0])


def leaves(tree: str, prefix: Module = ()) -> Iterator[tuple[Module, str]]:
    """The paths of a ``use``, each with the name that it binds (``*`` for all)."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if brace:
        before = tuple(s.strip() for s in head.split("::") if s.strip())
        depth, part = 0, ""
        for letter in rest.rstrip()[:-1] + ",":
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                if part.strip():
                    yield from leaves(part, prefix + before)
                part = ""
            else:
                part += letter
        return
    path, _, alias = (s.strip() for s in re.sub(r"\s+", " ", tree).partition(" as "))
    whole = prefix + tuple(s.strip() for s in path.split("::") if s.strip())
    if whole and whole[-1] == "self":
        whole = whole[:-1]
    if whole:
        yield whole, alias or whole[-1]


class Crate:
    """The modules of a crate."""

    def __init__(self, source: Path) -> None:
        self.files: dict[Module, Path] = {}
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            if parts[0] == "bin" or parts[-1] == "tests" or (parts == ("main",) and (source / "lib.rs").exists()):
                continue
            self.files[() if parts in {("lib",), ("main",)} else parts] = path
        self.code = {module: stripped(path.read_text()) for module, path in self.files.items()}
        self.defined = {module: set(DEFINED.findall(code)) for module, code in self.code.items()}
        self.uses: dict[Module, list[tuple[bool, Module, str]]] = {}
        for module, code in self.code.items():
            found = [(bool(m[1]), leaf) for m in USE.finditer(code) for leaf in leaves(m[2])]
            self.uses[module] = [(public, *leaf) for public, leaf in found]

    def resolve(self, at: Module, path: Module, depth: int = 0) -> Module | None:
        """The module whose file defines what a path in module ``at`` names; ``None`` for other crates."""
        first, rest = path[0], path[1:]
        if first == "crate":
            return self.descend((), rest, depth)
        if first == "self":
            return self.descend(at, rest, depth)
        if first == "super":
            while rest and rest[0] == "super":
                at, rest = at[:-1], rest[1:]
            return self.descend(at[:-1], rest, depth)
        return self.descend(at, path, depth) if (*at, first) in self.files else None

    def descend(self, at: Module, path: Module, depth: int) -> Module | None:
        """From a module on downwards, through re-exports."""
        while path and (*at, path[0]) in self.files:
            at, path = (*at, path[0]), path[1:]
        if at not in self.files:
            return None
        if not path or depth > 8 or path[0] in self.defined[at]:
            return at
        for _, target, name in self.uses[at]:
            if name == path[0]:
                found = self.resolve(at, target, depth + 1)
                return self.descend(found, path[1:], depth + 1) if found is not None and path[1:] else found
        for _, target, name in self.uses[at]:
            if (
                name == "*"
                and (found := self.resolve(at, target[:-1], depth + 1)) is not None
                and path[0] in self.defined[found]
            ):
                return found
        return at

    def arrows(self, module: Module, every_path: bool) -> set[Module]:
        """The modules whose files this one uses: by a ``use``, or by any path."""
        code = re.sub(r"\bmod \w+;", "", USE.sub("", self.code[module]))
        found = set()
        for public, target, name in self.uses[module]:
            used = self.resolve(module, target[:-1] if name == "*" else target)
            reexported = public and (name == "*" or not re.search(rf"\b{name}\b", code))
            if used is not None and not reexported:
                found.add(used)
        for first, middle, last in PATH.findall(code) if every_path else []:
            path = (first, *(s.strip() for s in middle.split("::") if s.strip()), last)
            if (defined := self.resolve(module, tuple(s for s in path if s not in "{*"))) is not None:
                found.add(defined)
        return found - {module}

    def graph(self, every_path: bool) -> dict[str, set[str]]:
        """Arrows between files, by their paths below ``src``."""
        root = min(self.files.values(), key=lambda p: len(p.parts)).parent
        named = {module: path.relative_to(root).as_posix() for module, path in self.files.items()}
        return {named[module]: {named[m] for m in self.arrows(module, every_path)} for module in self.files}


def components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Sets of files each of which leads to all others (Tarjan's algorithm): of one file each where there is no circle."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def shortest(graph: dict[str, set[str]], members: list[str]) -> list[str]:
    """A shortest circle among these files, its first file again at the end."""
    best: list[str] = []
    for start in members:
        ways = [[start]]
        seen = set()
        while (ways and not best) or (ways and len(ways[0]) < len(best) - 1):
            way = ways.pop(0)
            for other in sorted(graph[way[-1]] & set(members)):
                if other == start and (not best or len(way) + 1 < len(best)):
                    best = [*way, start]
                elif other not in seen and other != start:
                    seen.add(other)
                    ways.append([*way, other])
    return best


def circles(source: Path, every_path: bool) -> dict[tuple[str, ...], list[str]]:
    """Files that use one another in a circle: all files of each component, and a shortest circle in it."""
    graph = Crate(source).graph(every_path)
    return {tuple(c): shortest(graph, c) for c in components(graph) if len(c) > 1}
