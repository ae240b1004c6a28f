# SPDX-License-Identifier: Apache-2.0
"""The public names that programs use most (tools/api/most_used.py) are documented."""

import inspect
import operator
import pathlib
import re

import millstream as tf
import pytest

NAMES = [line.split()[0] for line in (pathlib.Path(__file__).parent / "data" / "most_used_names.txt").read_text().splitlines() if not line.startswith("#")]
SENTENCE = re.compile(r"[A-Z`].*?[^\s.]\.(\s|$)", re.DOTALL)  # from a capital letter or a name to a period


def own_doc(what):
    """The docstring of a function or a class, not that of its base class."""
    return what.__dict__.get("__doc__") if inspect.isclass(what) else what.__doc__


def begins_with_sentence(text):
    sentence = SENTENCE.match(inspect.cleandoc(text))
    return sentence is not None and len(sentence[0].split()) >= 4


def test_there_are_300_names():
    assert len(set(NAMES)) == 300


@pytest.mark.parametrize("name", NAMES)
def test_name_has_a_docstring(name):
    doc = own_doc(operator.attrgetter(name)(tf))
    assert doc and begins_with_sentence(doc), f"tf.{name} needs a docstring that begins with a full sentence, not {doc!r}"


@pytest.mark.parametrize("text, full", [("Returns the square of each element.", True), ("`tf.add` of one tensor and another.", True), ("", False),
                                        ("Zeros.", False), ("x + y, element by element.", False), ("Returns the square of each element", False)])
def test_what_is_a_sentence(text, full):
    assert begins_with_sentence(text) == full
