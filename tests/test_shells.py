"""Files of the command for shells and readers: completions that complete, manual pages without a warning."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from commands import execute
from conftest import Run
from terminal import on_terminal

# Half a line, and what the shell must make of it.
COMPLETED = {
    "ncforge verif": "verify",
    "ncforge doctor --prof": "doctor --profile",
    "ncforge doctor --profile cm": "doctor --profile cmip7",
    "ncforge bench rec": "bench records",
    "ncforge copy --codec defl": "copy --codec deflate",
}
#: Lines behind which a file is due.
FILES_DUE = [
    "ncforge copy ",
    "ncforge nccopy ",
    "ncforge combine a.nc -o ",
    "ncforge mppnccombine ",
    "ncforge bench access ",
    "ncforge tune chunks ",
]
COMPARE = {"combine", "compact", "compare", "completions"}


def script(run: Run, shell: str, path: Path) -> Path:
    """The completion script of a shell, at this place. Skips the rest of the test where the shell is not."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(run("completions", shell).stdout)
    assert "doctor" in path.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine (make setup installs it on Debian)")
    return path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_read_without_an_error(run: Run, tmp_path: Path, shell: str) -> None:
    path = script(run, shell, tmp_path / f"ncforge.{shell}")
    done = execute(shell, "-n", path, env={"HOME": str(tmp_path)})
    assert not done.stderr


def test_bash_completes(run: Run, tmp_path: Path) -> None:
    path = script(run, "bash", tmp_path / "ncforge.bash")

    def ask(line: str) -> list[str]:
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        call = (
            f"source {path}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
            "f=$(complete -p ncforge | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); "
            f'$f ncforge "{words[-1]}" "{words[-2]}"; echo "${{COMPREPLY[@]}}"'
        )
        done = execute("bash", "--norc", "-c", call, code=None, env={"LC_ALL": "C"})
        assert not done.stderr
        return done.stdout.split()

    for line, whole in COMPLETED.items():
        assert ask(line) == [whole.split(" ")[-1]], line
    assert set(ask("ncforge com")) == COMPARE
    assert "--chunks" in ask("ncforge copy --")
    # No options where a file is due: bash offers files.
    for line in FILES_DUE:
        assert not [word for word in ask(line) if word.startswith(("-", "<", "["))], line


def test_bash_offers_files(run: Run, tmp_path: Path) -> None:
    """A person's session: the tabulator is pressed where a file is due."""
    path = script(run, "bash", tmp_path / "ncforge.bash")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "the_file.nc").touch()
    typed = [
        f"cd {tmp_path}/here; source {path}; bind 'set enable-bracketed-paste off'",
        'ncforge() { echo "<$*>"; }',
        *(f"{line}\t" for line in FILES_DUE),
        "exit",
    ]
    shown = on_terminal(
        ["bash", "--norc", "--noprofile", "-i"],
        "".join(f"{line}\n" for line in typed),
        env={"HOME": str(tmp_path), "TERM": "dumb"},
    )
    want = [line.removeprefix("ncforge ") + "the_file.nc" for line in FILES_DUE]
    assert re.findall(r"^<(.*?) ?>\r?$", shown.text, re.MULTILINE) == want, shown.text


def test_fish_completes(run: Run, tmp_path: Path) -> None:
    path = script(run, "fish", tmp_path / "ncforge.fish")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}

    def ask(line: str) -> list[str]:
        done = execute("fish", "--no-config", "-c", f"source {path}; complete -C '{line}'", env=home)
        assert not done.stderr
        # A name, and behind a tabulator what it means.
        return [found.split("\t")[0] for found in done.stdout.splitlines()]

    for line, whole in COMPLETED.items():
        assert ask(line) == [whole.split(" ")[-1]], line
    assert set(ask("ncforge com")) == COMPARE
    (tmp_path / "the_file.nc").touch()
    for line in FILES_DUE:
        assert f"{tmp_path}/the_file.nc" in ask(f"{line}{tmp_path}/the"), line


def test_zsh_completes(run: Run, tmp_path: Path) -> None:
    """A person's session: the script lies in a folder of `fpath`, the tabulator is pressed."""
    path = script(run, "zsh", tmp_path / "functions" / "_ncforge")
    # Completions are shown by a function of the command's name.
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "the_file.nc").touch()
    typed = [
        f"cd {tmp_path}/here; fpath=({path.parent} $fpath); autoload -U compinit; compinit -u -d {tmp_path}/dump",
        'ncforge() { print -r -- "<$*>" }',
        *(f"{line}\t" for line in COMPLETED),
        *(f"{line}the\t" for line in FILES_DUE),
        "exit",
    ]
    shown = on_terminal(
        ["zsh", "-f", "-i"], "".join(f"{line}\n" for line in typed), env={"HOME": str(tmp_path), "TERM": "dumb"}
    )
    assert re.findall(r"^<(.*)>\r?$", shown.text, re.MULTILINE) == [
        *COMPLETED.values(),
        *(line.removeprefix("ncforge ") + "the_file.nc" for line in FILES_DUE),
    ], shown.text
    assert "zsh:" not in shown.text, "an error of the shell"


def test_every_command_has_a_manual_page(run: Run, tmp_path: Path) -> None:
    run("man", "--dir", tmp_path)
    pages = {p.stem for p in tmp_path.glob("*.1")}
    commands = re.findall(r"^  ([a-z_]+) {2,}\S", run("--help").stdout, re.MULTILINE)
    assert len(commands) > 15
    assert {f"ncforge-{c}" for c in commands if c != "help"} <= pages
    below = {
        f"ncforge-{c}-{sub}"
        for c in ("bench", "tune")
        for sub in re.findall(r"^  ([a-z]+) {2,}\S", run(c, "--help").stdout, re.MULTILINE)
        if sub != "help"
    }
    assert {"ncforge-bench-io", "ncforge-tune-chunks"} <= below <= pages
    assert "--driver" in run("man", "bench", "io").stdout.replace("\\-", "-")
    assert "no command `bench nonsense`" in run("man", "bench", "nonsense", code=2).stderr
    if shutil.which("man") is None:
        pytest.skip("no man on this machine")
    for page in sorted(tmp_path.glob("*.1")):
        env = {"MANPAGER": "cat", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
        done = execute("man", "--warnings", "-l", page, env=env)
        assert not done.stderr.strip(), f"{page.name}: {done.stderr}"
        assert "SYNOPSIS" in done.stdout
