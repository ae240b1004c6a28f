# SPDX-License-Identifier: Apache-2.0
"""Results and node names against those of TensorFlow, which op_cases/*.json hold."""
import os
import sys

import numpy as np
import pytest

import millstream as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "op_cases"))
import running

_MODULES = sorted(f[:-5] for f in os.listdir(running.HERE) if f.startswith("cases_") and f.endswith(".json"))
_CASES = [(m, c) for m in _MODULES for c in running.load_goldens(m)]
_goldens = {}


def _golden(module):
    if module not in _goldens:
        _goldens[module] = running.load_goldens(module)
    return _goldens[module]


@pytest.mark.parametrize("module,case", _CASES, ids=[f"{m[6:]}.{c}" for m, c in _CASES])
def test_case(module, case):
    cases = running.load_cases(module)
    wanted = _golden(module)[case]
    got = running.run_case(tf, cases.CASES[case])
    if "error" in wanted:
        assert "error" in got, "TensorFlow raises here"
        if case not in getattr(cases, "OTHER_ERRORS", ()):
            assert got["error"] == wanted["error"], got["message"]
        return
    assert "error" not in got, f"{got['error']}: {got['message']}"
    if case not in getattr(cases, "RANDOM", ()):
        _compare(got["results"], wanted["results"], getattr(cases, "TOLERANCE", {}).get(case, 1e-5))
    else:
        assert [(r["dtype"], r["shape"]) for r in got["results"]] == [(r["dtype"], r["shape"]) for r in wanted["results"]]
    if case not in getattr(cases, "OTHER_NODES", ()):
        assert got["nodes"] == wanted["nodes"]


def _compare(got, wanted, tolerance):
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted):
        assert (g["dtype"], g["shape"]) == (w["dtype"], w["shape"])
        if g["dtype"] == "string":
            assert g["values"] == w["values"]
        else:
            np.testing.assert_allclose(running.restore(g), running.restore(w), rtol=tolerance, atol=tolerance)
