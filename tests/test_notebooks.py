"""Every notebook runs from top to bottom in its fast mode and shows what a full run of it has shown."""

import json
import re

import nbclient
import nbformat
import pytest

from tests.support import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURES = {"image/png", "image/svg+xml"}


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """What a reader sees below a cell: text, tables, pictures, and how many of each kind of output."""
    kinds = []
    for output in cell.outputs:
        assert output.output_type != "error", output
        assert output.get("name") != "stderr", output.text
        if output.output_type == "stream":
            kinds.append("text")
        else:
            rich = set(output.data) & (PICTURES | {"text/markdown"})
            kinds.append(" ".join(sorted(rich)) or "value")
    return [kind for i, kind in enumerate(kinds) if kind != "text" or "text" not in kinds[:i]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_in_its_fast_mode_what_it_has_shown(path, monkeypatch):
    """Cell by cell the same kinds of outputs: a plot that no longer appears is a failure."""
    monkeypatch.setenv("FAST", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    stored, fresh = read(path), read(path)
    nbclient.NotebookClient(fresh, timeout=600, resources={"metadata": {"path": str(ROOT)}}).execute()
    for before, now in zip(code_cells(stored), code_cells(fresh), strict=True):
        assert shown(now) == shown(before), before.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_the_pictures_of_a_full_run(path):
    cells = code_cells(read(path))
    pictures = [kind for cell in cells for kind in shown(cell) if set(kind.split()) & PICTURES]
    assert len(pictures) >= (1 if path.stem.startswith("06") else 4)
    assert path.stat().st_size < 1_000_000


def test_there_are_seven_notebooks_which_begin_alike():
    assert len(NOTEBOOKS) == 7
    assert len({code_cells(read(path))[0].source for path in NOTEBOOKS}) == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_names_no_machine(path):
    """Outputs hold no path of whoever ran it."""
    notebook = read(path)
    for cell in code_cells(notebook):
        for output in cell.outputs:
            output.get("data", {}).pop("image/png", None)  # letters without meaning
    assert not re.search(r"/(root|home|Users|work|tmp)/", json.dumps(notebook))
