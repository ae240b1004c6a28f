# SPDX-License-Identifier: Apache-2.0
"""Assertions that TensorFlow's tests had beside those of unittest."""
import contextlib
import itertools
import json
import os
import re
import subprocess

import numpy as np

_ABSENT = object()


class Asserts:
    """For unittest.TestCase: sizes, orders, texts, structures, commands."""

    def assertEmpty(self, container, msg=None):
        if len(container):
            self.fail(self._formatMessage(msg, f"{container!r} has length of {len(container)}."))

    def assertNotEmpty(self, container, msg=None):
        if not len(container):
            self.fail(self._formatMessage(msg, f"{container!r} has length of 0."))

    def assertLen(self, container, expected_len, msg=None):
        if len(container) != expected_len:
            self.fail(self._formatMessage(msg, f"{container!r} has length of {len(container)}, expected {expected_len}."))

    def assertBetween(self, value, minv, maxv, msg=None):
        if not minv <= value <= maxv:
            self.fail(self._formatMessage(msg, f'"{value}" unexpectedly not between "{minv}" and "{maxv}"'))

    def assertItemsEqual(self, first, second, msg=None):
        self.assertCountEqual(first, second, msg)

    def assertSameElements(self, expected_seq, actual_seq, msg=None):
        self.assertEqual(sorted(set(expected_seq), key=repr), sorted(set(actual_seq), key=repr), msg)

    def assertNoCommonElements(self, expected_seq, actual_seq, msg=None):
        common = set(expected_seq) & set(actual_seq)
        if common:
            self.fail(self._formatMessage(msg, f"Common elements {common}"))

    def assertContainsSubset(self, expected_subset, actual_set, msg=None):
        missing = set(expected_subset) - set(actual_set)
        if missing:
            self.fail(self._formatMessage(msg, f"Missing elements {missing}"))

    def assertSequenceAlmostEqual(self, expected_seq, actual_seq, places=None, msg=None, delta=None):
        self.assertLen(actual_seq, len(expected_seq), msg)
        for a, b in zip(expected_seq, actual_seq):
            self.assertAlmostEqual(a, b, places=places, msg=msg, delta=delta)

    def assertDictAlmostEqual(self, a, b, places=None, msg=None, delta=None):
        self.assertEqual(set(a), set(b), msg)
        for key, value in a.items():
            self.assertAlmostEqual(value, b[key], places=places, msg=msg, delta=delta)

    def assertSequenceStartsWith(self, prefix, whole, msg=None):
        self.assertSequenceEqual(list(whole)[:len(prefix)], list(prefix), msg)

    def assertTotallyOrdered(self, *groups, **kwargs):
        """Each member of a group is equal to the others of it and less than those of later groups."""
        for before, after in itertools.combinations(groups, 2):
            for a, b in itertools.product(before, after):
                self.assertTrue(a < b and b > a and not b < a, kwargs.get("msg"))

    def assertNotStartsWith(self, actual, unexpected_start, msg=None):
        if actual.startswith(unexpected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} does start with {unexpected_start!r}"))

    def assertEndsWith(self, actual, expected_end, msg=None):
        if not actual.endswith(expected_end):
            self.fail(self._formatMessage(msg, f"{actual!r} does not end with {expected_end!r}"))

    def assertNotEndsWith(self, actual, unexpected_end, msg=None):
        if actual.endswith(unexpected_end):
            self.fail(self._formatMessage(msg, f"{actual!r} does end with {unexpected_end!r}"))

    def assertRegexMatch(self, actual_str, regexes, message=None):
        if not any(re.search(r, actual_str) for r in ([regexes] if isinstance(regexes, str) else regexes)):
            self.fail(self._formatMessage(message, f"{actual_str!r} matches none of {regexes}"))

    def assertContainsInOrder(self, strings, target, msg=None):
        at = 0
        for text in [strings] if isinstance(strings, str) else strings:
            found = target.find(text, at)
            if found < 0:
                self.fail(self._formatMessage(msg, f"Did not find {text!r} after index {at} in {target!r}"))
            at = found + len(text)

    def assertContainsSubsequence(self, container, subsequence, msg=None):
        items = iter(container)
        for wanted in subsequence:
            if not any(item == wanted for item in items):
                self.fail(self._formatMessage(msg, f"{subsequence} not a subsequence of {container}"))

    def assertContainsExactSubsequence(self, container, subsequence, msg=None):
        whole, part = list(container), list(subsequence)
        if not any(whole[i:i + len(part)] == part for i in range(len(whole) - len(part) + 1)):
            self.fail(self._formatMessage(msg, f"{subsequence} not an exact subsequence of {container}"))

    def assertIsSubclass(self, cls, superclass, msg=None):
        self.assertTrue(issubclass(cls, superclass), msg or f"{cls} is not a subclass of {superclass}")

    def assertNotIsSubclass(self, cls, superclass, msg=None):
        self.assertFalse(issubclass(cls, superclass), msg or f"{cls} is a subclass of {superclass}")

    def assertJsonEqual(self, first, second, msg=None):
        self.assertSameStructure(json.loads(first), json.loads(second), msg=msg)

    def assertMappingEqual(self, a, b, msg=None, mapping_type=None, check_values_equality=None):
        self.assertEqual(dict(a), dict(b), msg)

    def assertSameStructure(self, a, b, aname="a", bname="b", msg=None):
        """Equal dicts and lists, with the places that differ."""
        problems = list(_differences(a, b, aname, bname))
        if problems:
            self.fail(self._formatMessage(msg, "; ".join(problems[:10])))

    def assertDTypeEqual(self, target, expected_dtype):
        found = np.dtype(getattr(target, "dtype", None) if not hasattr(target.dtype, "as_numpy_dtype") else target.dtype.as_numpy_dtype)
        wanted = expected_dtype.as_numpy_dtype if hasattr(expected_dtype, "as_numpy_dtype") else expected_dtype
        self.assertEqual(found, np.dtype(wanted))

    def assertRaisesWithLiteralMatch(self, expected_exception, expected_exception_message, callable_obj=None, *args, **kwargs):
        """The exception's text is exactly this; without a callable, a context."""
        if callable_obj is None:
            return self._raises_literally(expected_exception, expected_exception_message)
        with self._raises_literally(expected_exception, expected_exception_message):
            callable_obj(*args, **kwargs)
        return None

    @contextlib.contextmanager
    def _raises_literally(self, kind, text):
        with self.assertRaises(kind) as context:
            yield context
        self.assertEqual(str(context.exception), text)

    def assertCommandSucceeds(self, command, regexes=("",), env=None, close_fds=True, msg=None):
        code, output = _run(command, env)
        if code:
            self.fail(self._formatMessage(msg, f"{command} ended with {code}: {output}"))
        self.assertRegexMatch(output, list(regexes), msg)

    def assertCommandFails(self, command, regexes, env=None, close_fds=True, msg=None):
        code, output = _run(command, env)
        if not code:
            self.fail(self._formatMessage(msg, f"{command} ended well: {output}"))
        self.assertRegexMatch(output, list(regexes), msg)


def _run(command, env):
    done = subprocess.run(command, shell=isinstance(command, str), env={**os.environ, **(env or {})}, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def _differences(a, b, aname, bname):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b), key=repr):
            x, y = a.get(key, _ABSENT), b.get(key, _ABSENT)
            if x is _ABSENT or y is _ABSENT:
                yield f"{aname if y is _ABSENT else bname}[{key!r}] is only there"
            else:
                yield from _differences(x, y, f"{aname}[{key!r}]", f"{bname}[{key!r}]")
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            yield f"{aname} has length {len(a)}, {bname} has {len(b)}"
        for i, (x, y) in enumerate(zip(a, b)):
            yield from _differences(x, y, f"{aname}[{i}]", f"{bname}[{i}]")
    elif a != b:
        yield f"{aname} is {a!r} but {bname} is {b!r}"
