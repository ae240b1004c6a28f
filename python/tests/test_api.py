# SPDX-License-Identifier: Apache-2.0
"""TF1's public names: docs/api.md says which are there; their arguments are TensorFlow's. See tools/api/."""
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("api_table", ROOT / "tools" / "api" / "table.py")
table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(table)


def test_arguments_are_tensorflows():
    different = {f"{space}.{name}": why for space, (_, _, other) in table.compare().items() for name, why in other.items()}
    assert not different, "mend them, or say why in tools/api/differs.json"


def test_page_is_as_the_package_is():
    assert table.PAGE.read_text() == table.page(table.compare()), "run tools/api/table.py"


def test_differences_are_seen():
    assert table.difference("a, b=1, c=None", [("a", None), ("b", "1"), ("c", "None")]) is None
    assert table.difference("a, b=1", [("a", None), ("b", "2")]) == "`b=2` instead of `b=1`"
    assert table.difference("a, b=1", [("b", None), ("a", None)]) == "`b` instead of `a`"
    assert table.difference("a", [("a", None), ("b", None)]) == "needs `b`"
    assert table.difference("a, b=(1, 2)", [("a", None), ("b", "[1, 2]"), ("c", "None")]) is None
    assert table.difference("a, b", [("a", None)]) == "no `b`"
