"""The tutorial runs, from its first cell to its last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "tutorial.ipynb"


def text(cell: Any) -> str:
    """The output of a cell."""
    return "".join(o.get("text", "") for o in cell.get("outputs", []))


@pytest.mark.filterwarnings("ignore")
def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "results of one machine are not kept"
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    said = "\n".join(text(cell) for cell in notebook.cells if cell.cell_type == "code")
    assert "maps.nc [" in said and "series.nc [365" in said
    assert "MaskedArray float64" in said or "MaskedArray float32" in said
    assert "times smaller; True" in said
    assert {p.name for p in tmp_path.glob("*.nc")} >= {"fixed.nc", "anomaly.nc", "run.nc"}
