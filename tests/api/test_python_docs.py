"""docs/notebook.ipynb and the code of docs/python.md run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def python_path() -> str:
    """Return PYTHONPATH with this checkout first: the code runs in another folder."""
    return os.pathsep.join([str(DOCS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_the_notebook_runs_and_shows_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbclient is in the extra dev")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", python_path())
    for folder in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(folder, str(tmp_path))
    notebook = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [cell.source for cell in cells if cell.outputs], "clear the outputs before saving the notebook"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = {cell.source: cell.outputs for cell in cells}
    assert max(map(len, shown.values())) == 1
    assert sum("text/html" in output.get("data", {}) for (output,) in filter(None, shown.values())) == 5
    (mistake,) = (outputs for source, outputs in shown.items() if "result.reason" in source)
    assert mistake[0]["data"]["text/plain"].startswith("('failed',") and "k = 30" in str(mistake)


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    ended = subprocess.run(
        [sys.executable, "-c", "".join(blocks)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": python_path(), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Verified on" in ended.stdout and "Occupancy on sm_90" in ended.stdout
    assert "unknown method tilde: did you mean tiled" in ended.stdout
