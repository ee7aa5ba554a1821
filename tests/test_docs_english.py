"""README.md, docs/ and the other documents are short, and in the plain English that CONTRIBUTING asks for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from documents import DOCUMENTS, GENERATED, OTHERS, PAPER, name_of


def prose(document: Path) -> str:
    """The text of a document without blocks, code and the targets of links."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`code`", text))


#: Words (as `wc -w` counts them) of the pages to be read: README and docs/ without reference and design notes.
MOST_WORDS = 22_000
#: Words of all documents that people write: also CONTRIBUTING and the reference.
MOST_WORDS_WRITTEN = 32_000


def test_the_documents_stay_short() -> None:
    written = {
        name_of(d): len(d.read_text().split())
        for d in DOCUMENTS
        if name_of(d) not in GENERATED and d.parent.name != "notes"
    }
    assert sum(written.values()) <= MOST_WORDS_WRITTEN
    read = {name: words for name, words in written.items() if not re.match("CONTRIBUTING|docs/reference/", name)}
    assert sum(read.values()) <= MOST_WORDS


#: Words that documents avoid (CONTRIBUTING, "Documents"): private ones, and those that make persons of files.
AVOIDED = re.compile(r"\b(told|tells?|kept|beside|roomy|slim|mend(s|ed)?|for ever)\b", re.IGNORECASE)
#: Words in a sentence.
LONGEST = 45

#: Things that are counted or measured.
THING = (
    "access|answer|byte|call|chunk|column|feature|file|folder|line|message|node|object|page|paragraph|plane|process|rank|read|"
    "record|request|round|row|second|segment|series|step|store|task|test|thread|tile|value|variable|warning|workload|year"
)

#: Phrases that are not plain English, and what to write instead (CONTRIBUTING, "Documents").
UNPLAIN = {
    rf"\b(?:an?|one|two|few|many|more|\d[^\s,]*|[KMGT]i?B|[mµn]?s|{THING})(?: \w+)? (?:{THING})s? an? (?:{THING})\b(?!'s)": "`per`: 1 s per request",
    rf"\b(?:one|\d[^\s,]*|[KMGT]i?B|[mµ]s) an? (?:{THING})\b(?!'s)": "`per`: 8 MiB per variable",
    r"\b(?:stands?|stood) (?!for\b)": "`is`, `lies`, or the verb that says what it does",
    r"\bshall\b": "`must`, or the plain verb",
    r"\b(?:makes?|made) no sense\b": "what is wrong: not allowed here, contradicts, is no number",
    r"\b(?:is|are|was|were) none\b": "repeat the noun: is not a folder, there are no filters",
    r"\bwho\b[^.]*\bfinds? out\b": "name the person or the program, or use the passive voice",
    r"\bsomebody\b": "name the person or the program",
}


def sentences(text: str) -> list[str]:
    """The sentences of a document's prose, without tables, headings and pictures."""
    lines = (line for line in text.splitlines() if not line.startswith(("|", "#", "!")))
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.)\s)", "\n".join(lines))
    found = (s for p in paragraphs for s in re.split(r"(?<=[.!?:;])\s+", p.replace("\n", " ")))
    return [re.sub(r"^\s*(?:[*-]|\d+\.)\s+", "", s).strip("* ") for s in found]


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if name_of(d) not in GENERATED], ids=name_of)
def test_a_document_follows_the_style(document: Path) -> None:
    text = prose(document)
    words = [m.group() for m in AVOIDED.finditer(text)]
    assert not words, f"{name_of(document)}: {words}"
    long = [s for s in sentences(text) if len(s.split()) > LONGEST]
    assert not long, f"{name_of(document)}: more than {LONGEST} words in: {long}"


#: Notes are records of their day, and stay as they are.
PLAIN = [d for d in [*DOCUMENTS, PAPER, *OTHERS] if name_of(d) not in GENERATED and d.parent.name != "notes"]


@pytest.mark.parametrize("document", PLAIN, ids=name_of)
def test_a_document_is_plain_english(document: Path) -> None:
    """No phrase of `UNPLAIN`, and no sentence whose subject is a clause: "What a killed one leaves, the next upload removes"."""
    text = prose(document)
    odd = [
        f"`{found.group()}`: write {better}"
        for pattern, better in UNPLAIN.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]
    odd += [
        f"`{s}`: begin with a noun" for s in sentences(text) if re.match(r"(?:What|Who)\b", s) and not s.endswith("?")
    ]
    assert not odd, f"{name_of(document)}:\n" + "\n".join(odd)


def test_the_rules_of_plain_english_find_what_they_are_for() -> None:
    for bad in (
        "takes a request a value",
        "writes an object a line to stderr",
        "one warning a process",
        "up to 8 MiB a variable",
        "what stands there stays",
        "it shall be copied",
        "an option that makes no sense",
        "0 is none",
        "who reads this finds out",
        "as somebody requires it",
    ):
        assert any(re.search(pattern, bad) for pattern in UNPLAIN), bad
    for good in (
        "`*` stands for any letters",
        "reads a chunk",
        "stores a chunk anew",
        "a chunk's address",
        "one per line",
    ):
        assert not any(re.search(pattern, good) for pattern in UNPLAIN), good
    assert sentences("* What is it?\n* **What** a killed one leaves, the next removes.") == [
        "What is it?",
        "What** a killed one leaves, the next removes.",
    ]
