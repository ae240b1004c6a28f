# SPDX-License-Identifier: Apache-2.0
"""Answers of TensorFlow, recorded by tools/goldens/behaviour.py, against ours."""
import importlib
import json
import pathlib
import sys

import pytest

import millstream as tf

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import behaviours  # noqa: E402  pylint: disable=wrong-import-position

CASES = []
for _path in sorted((FOLDER / "behaviour").glob("*.py")):
    _recorded = json.loads((FOLDER / "goldens" / f"{_path.stem}.json").read_text())
    CASES += [(_path.stem, e, a) for e, a in _recorded.items()]


@pytest.mark.parametrize("part,expression,expected", CASES, ids=[f"{p}: {e}" for p, e, _ in CASES])
def test_as_recorded(part, expression, expected):
    module = importlib.import_module(f"behaviour.{part}")
    differs = getattr(module, "DIFFERS", {})
    expected = differs.get(expression, expected)
    assert behaviours.answer(tf, module.PRELUDE, expression) == expected
