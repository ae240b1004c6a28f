# SPDX-License-Identifier: Apache-2.0
"""tf.test.TestCase."""
from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import tempfile
import threading
import unittest
from typing import TYPE_CHECKING

import numpy as np

from millstream.client import session as session_lib
from millstream.framework import errors, indexed_slices, random_seed, scopes, sparse_tensor, stacks
from millstream.framework.graph import Graph
from millstream.framework.tensor import Tensor
from millstream.platform import test_asserts

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike

_temp_dir = None


def get_temp_dir() -> Any:
    """A folder for files of tests, gone with the process."""
    global _temp_dir
    if _temp_dir is None:
        import atexit
        _temp_dir = tempfile.mkdtemp(prefix="millstream_test_")
        atexit.register(shutil.rmtree, _temp_dir, ignore_errors=True)
    return _temp_dir


class _ErrorLoggingSession(session_lib.Session):
    def run(self, *args, **kwargs):  # pylint: disable=arguments-differ
        return super().run(*args, **kwargs)


class CheckedThread:
    """A thread whose exception fails the test that joins it."""

    def __init__(self, testcase, target, args=None, kwargs=None):
        self._testcase = testcase
        self._target = target
        self._args = () if args is None else args
        self._kwargs = {} if kwargs is None else kwargs
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._exception = None

    def _run(self):
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as e:  # noqa: BLE001  told to whoever joins
            self._exception = e

    def start(self):
        self._thread.start()

    def join(self):
        self._thread.join()
        if self._exception is not None:
            self._testcase.fail(f"Error in checkedThread: {self._exception}")

    def is_alive(self):
        return self._thread.is_alive()


class TestCase(test_asserts.Asserts, unittest.TestCase):
    """Tests with a graph of their own, sessions, and comparisons of arrays."""

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._cached_session = None
        self._temp = None

    def setUp(self) -> None:
        super().setUp()
        random.seed(random_seed.DEFAULT_GRAPH_SEED)
        np.random.seed(random_seed.DEFAULT_GRAPH_SEED)
        stacks.default_graph.reset()
        scopes.reset_default_graph()
        scopes.get_default_graph().seed = random_seed.DEFAULT_GRAPH_SEED

    def tearDown(self) -> None:
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None
        super().tearDown()

    def create_tempdir(self, name: Optional[str] = None, cleanup: Any = None) -> Any:
        """A new folder for this test; its full_path, or os.fspath() of it."""
        from millstream.platform import temp_files
        return temp_files.make_folder(self.get_temp_dir(), name)

    def create_tempfile(self, file_path: Any = None, content: Any = None, mode: str = "w", encoding: str = "utf8",
                        errors: str = "strict", cleanup: Any = None) -> Any:
        """A new file for this test, with that content; its full_path, read_text() and write_text()."""
        from millstream.platform import temp_files
        return temp_files.make_file(self.get_temp_dir(), file_path, content, mode, encoding)

    def enter_context(self, manager: Any) -> Any:
        """Enters a `with` that ends with the test."""
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def get_temp_dir(self):
        if self._temp is None:
            name = re.sub(r"\W", "_", self.id())
            self._temp = tempfile.mkdtemp(prefix=name[-60:] + "_", dir=get_temp_dir())
        return self._temp

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        with _ErrorLoggingSession(graph=graph, config=config) as session:
            if graph is None:
                session.graph.seed = random_seed.DEFAULT_GRAPH_SEED if session.graph.seed is None else session.graph.seed
            yield session

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        if self._cached_session is None:
            self._cached_session = _ErrorLoggingSession(graph=graph, config=config)
        with self._cached_session.graph.as_default(), self._cached_session.as_default():
            yield self._cached_session

    @contextlib.contextmanager
    def test_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        manager = self.session if graph is not None else self.cached_session
        with manager(graph, config, use_gpu, force_gpu) as session:
            yield session

    def evaluate(self, tensors: Any) -> Any:
        session = scopes.get_default_session()
        if session is None:
            with self.cached_session() as session:
                return session.run(tensors)
        return session.run(tensors)

    def checkedThread(self, target: str, args: Any = None, kwargs: Any = None) -> Any:
        return CheckedThread(self, target, args, kwargs)

    # Comparisons.

    def _value(self, a):
        if isinstance(a, (Tensor, sparse_tensor.SparseTensor, indexed_slices.IndexedSlices)) or hasattr(a, "_as_graph_element"):
            return self.evaluate(a)
        return a

    def _array(self, a):
        return np.asarray(self._value(a))

    def assertAllEqual(self, a: TensorLike, b: TensorLike, msg: Any = None) -> None:
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}")
        same = a == b
        if a.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        if not np.all(same):
            np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertNotAllEqual(self, a: TensorLike, b: TensorLike, msg: Any = None) -> None:
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def assertAllClose(self, a: TensorLike, b: TensorLike, rtol: Any = 1e-6, atol: Any = 1e-6, msg: Any = None) -> None:
        a, b = self._value(a), self._value(b)
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        if isinstance(a, dict):
            self.assertIsInstance(b, dict)
            self.assertEqual(set(a), set(b))
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"at {key}: {msg or ''}")
            return
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            try:
                np.asarray(a, dtype=float), np.asarray(b, dtype=float)
            except (ValueError, TypeError):
                self.assertEqual(len(a), len(b))
                for x, y in zip(a, b):
                    self.assertAllClose(x, y, rtol, atol, msg)
                return
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}")
        np.testing.assert_allclose(b.astype(np.float64) if b.dtype.kind == "V" else b, a, rtol=rtol, atol=atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(self, a: TensorLike, b: TensorLike, rtol: Any = 1e-6, atol: Any = 1e-6,
                                      float_rtol: Any = 1e-6, float_atol: Any = 1e-6, half_rtol: Any = 1e-3,
                                      half_atol: Any = 1e-3, bfloat16_rtol: Any = 1e-2, bfloat16_atol: Any = 1e-2,
                                      msg: Any = None) -> None:
        a, b = self._array(a), self._array(b)
        names = {a.dtype.name, b.dtype.name}
        if names & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in names:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in names:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: TensorLike, b: TensorLike, **kwargs: Any) -> None:
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def _compare(self, a, fits, text):
        a = self._array(a)
        if not np.all(fits(a)):
            raise AssertionError(f"{text}: {a}")

    def assertAllGreater(self, a: TensorLike, comparison_target: Any) -> None:
        self._compare(a, lambda x: x > comparison_target, f"Not all greater than {comparison_target}")

    def assertAllLess(self, a: TensorLike, comparison_target: Any) -> None:
        self._compare(a, lambda x: x < comparison_target, f"Not all less than {comparison_target}")

    def assertAllGreaterEqual(self, a: TensorLike, comparison_target: Any) -> None:
        self._compare(a, lambda x: x >= comparison_target, f"Not all at least {comparison_target}")

    def assertAllLessEqual(self, a: TensorLike, comparison_target: Any) -> None:
        self._compare(a, lambda x: x <= comparison_target, f"Not all at most {comparison_target}")

    def assertAllInRange(self, target: str, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
                         open_upper_bound: bool = False) -> None:
        self._compare(target, lambda x: (x > lower_bound if open_lower_bound else x >= lower_bound) &
                      (x < upper_bound if open_upper_bound else x <= upper_bound),
                      f"Not all in the range {lower_bound} to {upper_bound}")

    def assertAllInSet(self, target: str, expected_set: Any) -> None:
        self.assertTrue(set(self._array(target).ravel().tolist()) <= set(expected_set))

    def assertNear(self, f1: Any, f2: Any, err: Any, msg: Any = None) -> None:
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err} {msg or ''}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: Any, msg: Any = None) -> None:
        self.assertEqual(len(farray1), len(farray2), msg)
        for a, b in zip(farray1, farray2):
            self.assertNear(float(a), float(b), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: Any, msg: Any = None) -> None:
        self.assertLess(np.linalg.norm(self._array(ndarray1) - self._array(ndarray2)), err, msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        self.assertAllEqual(np_array.shape, tf_tensor.get_shape().as_list(), msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        from millstream.framework.device import canonical_name
        self.assertEqual(canonical_name(device1), canonical_name(device2), msg)

    def assertStartsWith(self, actual: Any, expected_start: Any, msg: Any = None) -> None:
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}")

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: Any = None) -> None:
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            from google.protobuf import text_format
            expected = text_format.Merge(expected, type(message)())
        self.assertEqual(str(expected), str(message), msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        predicate = expected_err_re_or_predicate
        if not callable(predicate):
            def predicate(e):
                text = e.message if isinstance(e, errors.OpError) else str(e)
                return re.search(expected_err_re_or_predicate, text)
        try:
            yield
        except Exception as e:  # pylint: disable=broad-except
            if not isinstance(e, exception_type) or not predicate(e):
                raise AssertionError(f"Exception of type {type(e)}: {e}") from e
            return
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


def main(argv: Any = None) -> Any:
    """Runs the tests of the program."""
    del argv
    return unittest.main()


def test_src_dir_path(relative_path: Any) -> Any:
    return os.path.join(os.environ.get("TEST_SRCDIR", "."), relative_path)


def is_built_with_cuda() -> Any:
    return False


__all__ = ["TestCase", "Graph", "get_temp_dir", "main", "test_src_dir_path", "is_built_with_cuda"]
