# SPDX-License-Identifier: Apache-2.0
"""Programs in the style of many authors (scripts/TOPIC/*.py), unchanged, against what real TensorFlow printed for them
(the .txt beside each).

Recorded by tools/goldens/scripts.py. Texts must be equal; numbers may differ by 2e-4 of their size (or what the script says
in a line "# tolerance: 1e-3"), plus a hundredth of that, or one unit of the last printed digit.
"""
import itertools
import os
import pathlib
import re
import subprocess
import sys

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?(?![\w])")


def _close(got, expected, tolerance):
    if got == expected:
        return True
    if re.fullmatch(r"[-+]?\d+", expected) and re.fullmatch(r"[-+]?\d+", got):
        return False
    mantissa, _, exponent = expected.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    a, b = float(got), float(expected)
    return abs(a - b) <= tolerance * abs(b) + tolerance / 100 or abs(a - b) <= 1.01 * unit and unit <= 1e-3


def compare(got, expected, tolerance):
    """What is different in two outputs, as a text; None if they agree. Line breaks don't count: arrays may be wrapped elsewhere."""
    token = re.compile(NUMBER.pattern + r"|\S")
    for a, b in itertools.zip_longest(token.finditer(got), token.finditer(expected)):
        if a is None or b is None:
            return f"one ends before the other: {got[-200:]!r}, {expected[-200:]!r}"
        both_numbers = NUMBER.fullmatch(a.group()) and NUMBER.fullmatch(b.group())
        if not (_close(a.group(), b.group(), tolerance) if both_numbers else a.group() == b.group()):
            return f"got      {_around(got, a)}\nexpected {_around(expected, b)}"
    return None


def _around(text, match):
    start = text.rfind("\n", 0, max(match.start() - 60, 0)) + 1
    return text[start:match.start()] + ">>>" + text[match.start():match.end() + 60]


@pytest.mark.parametrize("name", sorted(str(p.relative_to(SCRIPTS).with_suffix("")) for p in SCRIPTS.glob("*/*.py")))
def test_script(name, tmp_path):
    source = (SCRIPTS / f"{name}.py").read_text()
    tolerance = re.search(r"^# tolerance: (\S+)$", source, re.M)
    result = subprocess.run([sys.executable, "-m", "millstream", str(SCRIPTS / f"{name}.py")], capture_output=True, text=True,
                            cwd=tmp_path, timeout=300, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert result.returncode == 0, result.stdout[-1000:] + result.stderr[-3000:]
    difference = compare(result.stdout, (SCRIPTS / f"{name}.txt").read_text(),
                         float(tolerance.group(1)) if tolerance else 2e-4)
    assert difference is None, difference


def test_comparison_sees_differences():
    assert compare("loss 1.00001 [2]", "loss 1.0 [2]", 1e-4) is None
    assert compare("loss 1.01 [2]", "loss 1.0 [2]", 1e-4)
    assert compare("loss 1.0 [3]", "loss 1.0 [2]", 1e-4)
    assert compare("lost 1.0", "loss 1.0", 1e-4)
    assert compare("a\nb", "a", 1e-4)
    assert compare("x_1:0 True", "x_2:0 True", 1e-4)
