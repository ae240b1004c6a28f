# SPDX-License-Identifier: Apache-2.0
"""tf.test and tf.graph_util."""
import numpy as np
import pytest

import millstream as tf
from millstream import gen_ops


class Case(tf.test.TestCase):
    __test__ = False

    def test_all(self):
        with self.test_session() as session:
            x = tf.constant([1.0, 2.0])
            self.assertAllClose([2.0, 4.0], (x * 2).eval())
            self.assertAllEqual(session.run(x), [1, 2])
            with self.assertRaisesOpError("p"):
                tf.placeholder(tf.float32, name="p").eval()
        self.assertTrue(self.get_temp_dir())
        made = self.create_tempfile("a/b.txt", content="text")
        self.assertEqual(made.read_text(), "text")
        self.assertTrue(self.create_tempdir("c").create_file(content=b"x").full_path)


def test_case():
    import unittest
    result = unittest.TextTestRunner(verbosity=0).run(Case("test_all"))
    assert result.wasSuccessful()


def test_compute_gradient():
    x = tf.constant(np.ones([2, 3]), name="x")
    y = gen_ops.mat_mul(x * x, np.arange(6.0).reshape(3, 2))
    with tf.Session():
        assert tf.test.compute_gradient_error(x, [2, 3], y, [2, 2]) < 1e-6


def test_constants_in_place_of_variables(tmp_path):
    variable = gen_ops.variable_v2(shape=[2], dtype=tf.float32, name="v")
    init = gen_ops.assign(variable, [3.0, 4.0])
    out = gen_ops.mul(gen_ops.identity(variable, name="v/read"), 2.0, name="out")
    with tf.Session() as session:
        session.run(init.op)
        frozen = tf.graph_util.convert_variables_to_constants(session, out.graph.as_graph_def(), ["out"])
    assert sorted(n.name for n in frozen.node) == ["out", "out/y", "v", "v/read"]
    smaller = tf.graph_util.remove_training_nodes(frozen)
    for d in (frozen, smaller):
        with tf.Graph().as_default():
            (y,) = tf.import_graph_def(d, return_elements=["out:0"])
            with tf.Session() as session:
                assert session.run(y).tolist() == [6, 8]
    name = tf.train.write_graph(frozen, str(tmp_path), "g.pbtxt")
    assert "op: \"Const\"" in open(name, encoding="utf-8").read()


class Further(tf.test.TestCase):
    """Assertions beside unittest's: each holds and fails."""

    __test__ = False

    def test_assertions(self):
        good = [("assertLen", [1, 2], 2), ("assertEmpty", []), ("assertNotEmpty", [1]), ("assertBetween", 2, 1, 3),
                ("assertItemsEqual", [1, 2], [2, 1]), ("assertSameElements", [1, 1, 2], [2, 1]), ("assertNoCommonElements", [1], [2]),
                ("assertContainsSubset", [1], [1, 2]), ("assertEndsWith", "abc", "bc"), ("assertNotEndsWith", "abc", "a"),
                ("assertNotStartsWith", "abc", "b"), ("assertRegexMatch", "abc", ["x", "b"]), ("assertContainsInOrder", ["a", "b"], "xaxb"),
                ("assertContainsSubsequence", [1, 2, 3], [1, 3]), ("assertContainsExactSubsequence", [1, 2, 3], [2, 3]),
                ("assertSameStructure", {"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}), ("assertDictAlmostEqual", {"a": 1.0}, {"a": 1.0}),
                ("assertSequenceAlmostEqual", [1.0], [1.0]), ("assertJsonEqual", '{"a": 1}', '{"a":1}'),
                ("assertDTypeEqual", np.float32([1]), tf.float32), ("assertTotallyOrdered", [1], [2, 3]), ("assertIsSubclass", bool, int)]
        bad = [("assertLen", [1], 2), ("assertEmpty", [1]), ("assertNotEmpty", []), ("assertBetween", 4, 1, 3),
               ("assertItemsEqual", [1, 2], [2]), ("assertSameElements", [1], [2]), ("assertNoCommonElements", [1], [1]),
               ("assertContainsSubset", [3], [1, 2]), ("assertEndsWith", "abc", "a"), ("assertNotEndsWith", "abc", "c"),
               ("assertNotStartsWith", "abc", "a"), ("assertRegexMatch", "abc", "x"), ("assertContainsInOrder", ["b", "a"], "xaxb"),
               ("assertContainsSubsequence", [1, 2, 3], [3, 1]), ("assertContainsExactSubsequence", [1, 2, 3], [1, 3]),
               ("assertSameStructure", {"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}), ("assertDictAlmostEqual", {"a": 1.0}, {"a": 1.1}),
               ("assertSequenceAlmostEqual", [1.0], [1.1]), ("assertJsonEqual", '{"a": 1}', '{"a":2}'),
               ("assertDTypeEqual", np.float32([1]), tf.int32), ("assertTotallyOrdered", [2], [1]), ("assertIsSubclass", int, bool)]
        for name, *args in good:
            getattr(self, name)(*args)
        for name, *args in bad:
            with self.assertRaises(AssertionError, msg=name):
                getattr(self, name)(*args)
        with self.assertRaisesWithLiteralMatch(ValueError, "x"):
            raise ValueError("x")

    def test_a_cluster_in_this_process(self):
        workers, parameter_servers = tf.test.create_local_cluster(num_workers=1, num_ps=1)
        assert len(workers) == len(parameter_servers) == 1
        with tf.Graph().as_default() as graph:
            with tf.device("/job:ps/task:0"):
                v = tf.Variable(3.0)
            with tf.Session(workers[0].target) as session:
                session.run(v.initializer)
                assert session.run(v) == 3.0
            tf.test.assert_equal_graph_def(graph.as_graph_def(), graph.as_graph_def())
            with self.assertRaisesRegex(AssertionError, "Only in one"):
                tf.test.assert_equal_graph_def(graph.as_graph_def(), tf.Graph().as_graph_def())


@pytest.mark.parametrize("name", ["test_assertions", "test_a_cluster_in_this_process"])
def test_further(name):
    Further(name).debug()


def test_further_kinds_of_flags():
    import enum
    Color = enum.Enum("Color", "RED BLUE")
    flags, values = tf.flags, tf.flags.FlagValues()
    flags.DEFINE_multi_float("f", [1.0], "", flag_values=values)
    flags.DEFINE_multi_enum("m", ["x"], ["x", "y"], "", flag_values=values)
    flags.DEFINE_enum_class("color", Color.RED, Color, "", flag_values=values)
    flags.DEFINE_spaceseplist("words", "a b", "", flag_values=values)
    flags.DEFINE_multi_integer("n", 5, "", upper_bound=9, flag_values=values)
    for name in ("a", "b"):
        flags.DEFINE_string(name, None, "", flag_values=values)
    flags.mark_flags_as_mutual_exclusive(["a", "b"], flag_values=values)
    values(["program", "--f=2.5", "--f=3", "--m=y", "--color=blue", "--a=1"])
    assert (values.f, values.m, values.color, values.words, values.n) == ([2.5, 3.0], ["y"], Color.BLUE, ["a", "b"], [5])
    for wrong, text in (("--b=2", "At most one of"), ("--m=z", "one of <x|y>"), ("--n=10", "not in"), ("--color=green", "RED")):
        with pytest.raises(flags.Error, match=text):
            values(["program", wrong])
