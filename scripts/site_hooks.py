"""Hooks of MkDocs: what lies beside docs/ and is linked from there becomes part of the site.

Documents link to files of the repository (`../examples/read_map.rs`), so that links work where the sources are looked at. On the
site each such file is a page under `source/`: Markdown as it is, programs as a block of code, folders as a list of their files.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: Pages that the navigation names though no document need link to them.
ALWAYS = ("CHANGELOG.md", "CONTRIBUTING.md")
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
CODE = re.compile(r"`[^`\n]+`")
LANGUAGES = {".rs": "rust", ".py": "python", ".sh": "bash", ".toml": "toml", ".json": "json", ".yml": "yaml"}


def place(path: str) -> str:
    """Where a file of the repository stands on the site, from docs/."""
    return f"source/{path}" if path.endswith(".md") else f"source/{path.rstrip('/') or 'repository'}.md"


def outside(source: str, target: str) -> str | None:
    """The path from the repository's root, if a link of `source` (from the root, too) leads out of docs/."""
    if re.match(r"[a-z]+:", target):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    inside = path == "docs" or path.startswith("docs/")
    return None if inside or path.startswith("..") or not (ROOT / path).exists() else path


def relinked(text: str, source: str, page: str) -> str:
    """The text of `source` with links that fit its place on the site, `page` (from docs/)."""

    def one(found: re.Match[str]) -> str:
        target = found.group(2)
        if re.match(r"[a-z]+:", target):
            return found.group(0)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        led = outside(source, target)
        to = place(led) if led is not None else path.removeprefix("docs/")
        to = posixpath.relpath(to, posixpath.dirname(page) or ".")
        return f"{found.group(1)}{to}{found.group(3) or ''}{found.group(4)}"

    return LINK.sub(one, text)


def unescaped(text: str) -> str:
    """The text with `|` as it is within code: GitHub wants it escaped in tables, and MkDocs would show the backslash."""
    return CODE.sub(lambda code: code.group().replace("\\|", "|"), text)


def content(path: str) -> str:
    """The page of a file or folder of the repository."""
    file = ROOT / path
    if file.is_dir():
        names = sorted(f.name for f in file.iterdir() if f.is_file() and not f.name.startswith("."))
        return f"# {path}\n\n" + "\n".join(f"* `{name}`" for name in names) + "\n"
    if path.endswith(".md"):
        return unescaped(relinked(file.read_text(), path, place(path)))
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        return f"# {path}\n\nA file of {file.stat().st_size:,} bytes.\n"
    return f"# {path}\n\n````{LANGUAGES.get(file.suffix, 'text')}\n{text}````\n"


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the pages of files that documents link to, and of those that these link to."""
    todo = [f"docs/{f.src_uri}" for f in files.documentation_pages()]
    added = set()
    wanted = list(ALWAYS)
    while todo or wanted:
        while wanted:
            path = wanted.pop()
            if path not in added:
                added.add(path)
                files.append(File.generated(config, place(path), content=content(path)))
                if path.endswith(".md"):
                    todo.append(path)
        if todo:
            source = todo.pop()
            for target in (m.group(2) for m in LINK.finditer((ROOT / source).read_text())):
                if (path_ := outside(source, target)) is not None:
                    wanted.append(path_)
    # Those that nobody navigates to are reached by links.
    for file in files:
        if file.src_uri.startswith("source/") and file.src_uri not in {place(p) for p in ALWAYS}:
            file.inclusion = file.inclusion.__class__.NOT_IN_NAV
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links out of docs/ lead to the added pages."""
    if page.file.src_uri.startswith("source/"):
        return markdown
    return unescaped(relinked(markdown, f"docs/{page.file.src_uri}", page.file.src_uri))
