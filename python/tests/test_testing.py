# SPDX-License-Identifier: Apache-2.0
"""tf.test and tf.graph_util."""
import numpy as np

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
