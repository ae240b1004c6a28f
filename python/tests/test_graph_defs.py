# SPDX-License-Identifier: Apache-2.0
"""GraphDefs, meta graphs, functions, py_func, seeds."""
import numpy as np
import pytest

import millstream as tf
from millstream import gen_ops
from millstream.framework import function, meta_graph


def small_graph_def():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, name="a")
        b = gen_ops.identity(a, name="b")
        gen_ops.add_v2(b, 1.0, name="c")
    return graph.as_graph_def()


def test_import_graph_def(fresh_graph):
    d = small_graph_def()
    x = tf.constant(2.0, name="x")
    c, b = tf.import_graph_def(d, input_map={"a": x}, return_elements=["c:0", "b"])
    assert (c.name, b.name) == ("import/c:0", "import/b")
    with tf.Session() as session:
        assert session.run(c) == 3
    assert tf.import_graph_def(d, input_map={"a:0": x}, return_elements=["c:0"], name="again")[0].name == "again/c:0"
    tf.import_graph_def(d, name="")
    assert tf.import_graph_def(d, name="", return_elements=["c:0"])[0].name == "c_1:0"
    with pytest.raises(ValueError, match="Attempted to map inputs that were not found in graph_def"):
        tf.import_graph_def(d, input_map={"zz": x})
    with pytest.raises(ValueError, match="Requested return node 'q' not found"):
        tf.import_graph_def(d, return_elements=["q"])
    with pytest.raises(TypeError):
        tf.import_graph_def(3)
    with tf.device("/job:ps"), tf.name_scope("s"):
        imported = tf.import_graph_def(d, return_elements=["c:0"], name="dd")[0]
    assert (imported.name, imported.device) == ("s/dd/c:0", "/job:ps")
    assert len(fresh_graph.as_graph_def().node) == len(fresh_graph.get_operations())
    shapes = fresh_graph.as_graph_def(add_shapes=True).node[0].attr["_output_shapes"].list.shape
    assert len(shapes) == 1


def test_meta_graph(tmp_path):
    with tf.Graph().as_default():
        x = tf.constant([1.0], name="x")
        tf.add_to_collection("tensors", x)
        tf.add_to_collection("numbers", 3)
        tf.add_to_collection("words", "w")
        name = str(tmp_path / "g.meta")
        exported = meta_graph.export_scoped_meta_graph(name)
        assert [op.name for op in exported.meta_info_def.stripped_op_list.op] == ["Const"]
        meta_graph.export_scoped_meta_graph(name + "txt", as_text=True)
    for file in (name, name + "txt"):
        with tf.Graph().as_default() as graph:
            meta_graph.import_scoped_meta_graph(file, import_scope="s")
            assert tf.get_collection("tensors") == [graph.get_tensor_by_name("s/x:0")]
            assert tf.get_collection("numbers") == [3] and tf.get_collection("words") == [b"w"]


def test_functions():
    outside = tf.placeholder(tf.float32, [], name="outside")

    @function.Defun(tf.float32, tf.float32)
    def both(x, y):
        return x * y + outside, x - 1.0

    a, b = both(2.0, tf.constant(3.0))
    (grad,) = tf.gradients(a, outside)
    with tf.Session() as session:
        assert session.run([a, b, grad], {outside: 10.0}) == [16, 1, 1]
    built = function.build(lambda x: x * 2, [tf.int32], [[None]])
    assert built.output_shapes[0].as_list() == [None] and not built.stateful and built.captured == []
    assert built(tf.constant([1])).shape.as_list() == [None]


def test_functional_if():
    x = tf.placeholder(tf.float32, [])
    then = function.build(lambda v: v * 2, [tf.float32])
    other = function.build(lambda v: v - 1, [tf.float32])
    y = tf.raw_ops.If(cond=x > 0, input=[x], Tout=[tf.float32], then_branch=then, else_branch=other)[0]
    with tf.Session() as session:
        assert session.run(y, {x: 3.0}) == 6 and session.run(y, {x: -3.0}) == -4


def test_py_func():
    seen = []

    def f(*args):
        seen.append([type(a) for a in args])
        return np.float32(sum(args[1])), "text"

    total, text = tf.py_func(f, [1.0, [1, 2], "a"], [tf.float32, tf.string])
    with tf.Session() as session:
        assert session.run([total, text]) == [3, b"text"]
        assert seen[0] == [np.float32, np.ndarray, bytes]
        assert session.run(tf.py_func(lambda: None, [], [])) is None
        cases = [(lambda: 1.5, tf.errors.InvalidArgumentError, "is double, but expects float"),
                 (lambda: [1, 2], tf.errors.InvalidArgumentError, "returns 2 values, but expects to see 1 values"),
                 (lambda: 1 / 0, tf.errors.UnknownError, "ZeroDivisionError: division by zero")]
        for bad, error, message in cases:
            with pytest.raises(error, match=message):
                session.run(tf.py_func(bad, [], tf.float32))


def test_seeds(fresh_graph):
    assert tf.get_seed(None) == (None, None) and tf.get_seed(5) == (87654321, 5)
    tf.set_random_seed(3)
    assert tf.get_seed(None) == (3, 0) and tf.get_seed(7) == (3, 7)
    tf.constant(1)
    assert tf.get_seed(None) == (3, 1)
    tf.set_random_seed(0)
    assert tf.get_seed(0) == (0, 2**31 - 1)


def pairs(graph, fn):
    def call(prefix, ids):
        with graph._inside(prefix):
            return [t._id_pair() for t in fn(*[graph._output_by_id(i) for i in ids])]
    return call


def test_cond_and_while(fresh_graph):
    g = fresh_graph
    x = tf.placeholder(tf.float32, [])
    made = g._core.cond("", "cond", (x > 0)._id_pair(), pairs(g, lambda: [x * 2]), pairs(g, lambda: [x - 1]))
    g._sync()
    y = g._output_by_id(made[0])
    made = g._core.while_loop("", "while", pairs(g, lambda i, a: [i < 5]), pairs(g, lambda i, a: [i + 1, a * x]),
                              [tf.constant(0)._id_pair(), tf.constant(1.0)._id_pair()], 10, [], False, [])
    g._sync()
    power = g._output_by_id(made[1])
    grads = tf.gradients([y, power], x)[0]
    with tf.Session() as session:
        assert session.run([y, power], {x: 2.0}) == [4, 32] and session.run(y, {x: -2.0}) == -3
        assert session.run(grads, {x: 2.0}) == 2 + 80

    def fail():
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        g._core.cond("", "bad", (x > 0)._id_pair(), pairs(g, fail), pairs(g, lambda: [x]))
    g._sync()
    assert (x + 1).shape.as_list() == []
