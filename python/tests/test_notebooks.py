# SPDX-License-Identifier: Apache-2.0
"""The cells of the notebooks in examples/notebooks, run one after the other."""
import glob
import json
import os

import pytest

NOTEBOOKS = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "notebooks", "*.ipynb")


@pytest.mark.parametrize("path", sorted(glob.glob(NOTEBOOKS)), ids=os.path.basename)
def test_notebook(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open(path, encoding="utf-8") as f:
        cells = [c for c in json.load(f)["cells"] if c["cell_type"] == "code"]
    names = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), path, "exec"), names)
    if os.path.basename(path) == "cluster.ipynb":
        assert min(names["steps_of"]) > 0 and 1000 <= sum(names["steps_of"]) <= 1002
        assert names["result"][0] > 0.88
