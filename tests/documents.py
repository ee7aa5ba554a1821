"""The documents that tests read."""

from __future__ import annotations

from pathlib import Path

from conftest import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
#: The draft for a journal.
PAPER = ROOT / "paper" / "paper.md"

#: Documents whose blocks are not run.
OTHERS = sorted(
    [*(ROOT / name for name in ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "SECURITY.md")), *ROOT.glob("*/README.md")]
)

#: Pages that programs write.
GENERATED = {"docs/reference/licences.md", "docs/reference/command.md", "docs/reference/bench-command.md"}


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()
