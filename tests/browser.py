"""Pages in a real browser (Chromium), without a window. Machines without one skip the tests that ask for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from commands import execute

BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome")) if b), None)


def _shown(page: Path, room: Path, *options: str) -> str:
    """The browser's output; a page that makes it complain fails the test."""
    if BROWSER is None:
        pytest.skip("no Chromium on this machine (make setup installs it on Debian)")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
        f"--user-data-dir={room / 'profile'}", *options, page.as_uri(),
    ]  # fmt: skip
    done = execute(*command)
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


def laid_out(page: Path, room: Path) -> str:
    """The page as the browser understood it."""
    return _shown(page, room, "--dump-dom")


def screenshot(page: Path, room: Path, width: int, height: int, dark: bool = False) -> np.ndarray:
    """The browser's picture: rows of pixels of red, green and blue. Skips the test where nothing reads pictures."""
    shot = room / "page.png"
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    _shown(page, room, f"--window-size={width},{height}", f"--screenshot={shot}", scheme)
    image = pytest.importorskip("matplotlib.image").imread(shot)
    return (image[..., :3] * 255).round().astype(np.uint8)
