"""The code of docs/notebook.ipynb and of docs/python.md runs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def python_path() -> str:
    """Return PYTHONPATH with this checkout first: the code runs in another folder."""
    return os.pathsep.join([str(DOCS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.long
def test_the_notebook_runs_and_shows_html_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
    outputs_by_source = {cell.source: cell.outputs for cell in cells}
    assert max(map(len, outputs_by_source.values())) == 1
    html_tables = [o for (o,) in filter(None, outputs_by_source.values()) if "text/html" in o.get("data", {})]
    assert len(html_tables) == 5
    (mistake,) = (outputs for source, outputs in outputs_by_source.items() if "result.reason" in source)
    assert mistake[0]["data"]["text/plain"].startswith("('failed',") and "k = 30" in str(mistake)


def test_the_code_of_the_python_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", python_path())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    exec(compile("".join(blocks), "python.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - our page
    printed = capsys.readouterr().out
    assert "Verified on" in printed and "Occupancy on sm_90" in printed
    assert "unknown method tilde: did you mean tiled" in printed
