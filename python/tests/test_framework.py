# SPDX-License-Identifier: Apache-2.0
"""Graphs, names, scopes, conversion. Names and messages were seen in TensorFlow 2.21 (compat.v1)."""
import numpy as np
import pytest

import millstream as tf
from millstream import gen_ops


def test_names_of_scopes_and_operators():
    with tf.name_scope("a") as scope:
        x = tf.constant(1.0, name="x")
    assert (scope, x.name) == ("a/", "a/x:0")
    with tf.name_scope("a"):
        y = tf.constant([1.0, 2])
    assert y.name == "a_1/Const:0"
    assert ((x + y).name, (x + y).op.type) == ("add:0", "AddV2")
    assert (x + 1.0).op.inputs[1].name == "add_2/y:0"
    made = [2 * y, y / 2, y - 1, -y, y ** 2, 1 / y, 1 - y, y < 1, y[0]]
    assert [t.name for t in made] == ["mul:0", "truediv:0", "sub:0", "Neg:0", "pow:0", "truediv_1:0", "sub_1:0", "Less:0",
                                      "strided_slice:0"]
    assert [t.name for t in made[-1].op.inputs[1:]] == ["strided_slice/stack:0", "strided_slice/stack_1:0",
                                                        "strided_slice/stack_2:0"]
    assert tf.get_default_graph().unique_name("a") == "a_2"


def test_str_and_shape():
    p = tf.placeholder("float")
    q = tf.placeholder(tf.float32, [None, 3], name="q")
    assert str(p) == 'Tensor("Placeholder:0", dtype=float32)'
    assert str(q) == 'Tensor("q:0", shape=(?, 3), dtype=float32)'
    assert repr(q.get_shape()) == "TensorShape([Dimension(None), Dimension(3)])"
    assert q.get_shape()[1].value == 3 and q.shape.as_list() == [None, 3]
    q.set_shape([5, None])
    assert q.shape.as_list() == [5, 3]
    with pytest.raises(ValueError):
        q.set_shape([6, 3])


def test_devices_merge_inner_first():
    with tf.device("/job:ps/task:0"):
        with tf.device("/cpu:0"):
            c = tf.constant(1)
        assert c.device == "/job:ps/task:0/device:CPU:0"
        with tf.device(None):
            assert tf.constant(1).device == ""
        with tf.device(lambda op: "/job:worker/task:1/gpu:0" if op.type == "Const" else "/cpu:0"):
            assert tf.constant(1).device == "/job:worker/task:1/device:GPU:0"
            assert gen_ops.identity(c).device == "/job:ps/task:0/device:CPU:0"
    with tf.device(lambda op: "/job:worker"):
        with tf.device("/cpu:1"):
            assert tf.constant(1).device == "/job:worker"
    with tf.colocate_with(c.op):
        d = tf.constant(2)
    assert d.device == c.device
    assert d.op.colocation_groups() == [b"loc:@Const"] == d.op.get_attr("_class")


def test_control_dependencies():
    x, y = tf.constant(1, name="x"), tf.constant(2, name="y")
    z = x + y
    with tf.control_dependencies([x, z.op]):
        e = gen_ops.identity(z)
        c = tf.constant(3)
        f = gen_ops.identity(c)
        with tf.control_dependencies(None):
            g = tf.constant(4)
    assert [o.name for o in e.op.control_inputs] == ["x"]
    assert [o.name for o in c.op.control_inputs] == ["x", "add"]
    assert f.op.control_inputs == [] and g.op.control_inputs == []


def test_errors_of_building():
    a = tf.constant(1.0, shape=[2, 3])
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2 for '{{node MatMul}} = MatMul"):
        gen_ops.mat_mul(a, a)
    with pytest.raises(TypeError, match="Input 'y' of 'AddV2' Op has type float32 that does not match type int32 of argument"):
        tf.constant(1) + 1.5  # pylint: disable=expression-not-assigned
    with pytest.raises(TypeError, match="Expected float32, but got a of type 'str'."):
        tf.constant("a", dtype=tf.float32)
    with pytest.raises(ValueError, match="None values not supported"):
        tf.convert_to_tensor(None)
    with pytest.raises(ValueError, match="Tensor conversion requested dtype int32 for Tensor with dtype float32"):
        tf.convert_to_tensor(a, tf.int32)
    with pytest.raises(TypeError, match="not allowed"):
        bool(a)
    with pytest.raises(ValueError, match="is not a valid root scope name"):
        with tf.name_scope("a b"):
            pass
    # The graph goes on after an error.
    assert (a + 1).name == "add_1:0"


def test_lookup(fresh_graph):
    x = tf.constant(1, name="x")
    assert fresh_graph.get_tensor_by_name("x:0") is x
    assert fresh_graph.get_operation_by_name("x") is x.op
    assert fresh_graph.as_graph_element("x") is x.op
    for name, error in [("nope:0", KeyError), ("nope", ValueError), ("x:1", KeyError)]:
        with pytest.raises(error):
            fresh_graph.get_tensor_by_name(name)
    with pytest.raises(KeyError):
        fresh_graph.get_operation_by_name("nope")
    with pytest.raises(TypeError):
        fresh_graph.as_graph_element(3)


def test_constants():
    assert tf.constant([1, 2, 3], shape=[2, 3]).shape.as_list() == [2, 3]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.constant([1, 2, 3], shape=[2, 3])), [[1, 2, 3], [3, 3, 3]])
        assert session.run(tf.constant("abc")) == b"abc"
        assert session.run(tf.constant(["a", "bcd"])).tolist() == [b"a", b"bcd"]
        assert session.run(tf.constant(2**40)).dtype == np.int64
        assert session.run(tf.constant(1)).dtype == np.int32
        assert session.run(tf.constant(np.float64(1))).dtype == np.float64
        assert session.run(tf.constant([True, False])).tolist() == [True, False]
        packed = tf.convert_to_tensor([tf.constant(1.0), 2.0, [tf.constant(3.0)][0]])
        assert packed.op.type == "Pack" and session.run(packed).tolist() == [1, 2, 3]


def test_collections(fresh_graph):
    tf.add_to_collection("c", 1)
    fresh_graph.add_to_collections(["c", "d"], 2)
    assert tf.get_collection("c") == [1, 2] and fresh_graph.get_all_collection_keys() == ["c", "d"]
    x = tf.constant(1, name="s/x")
    tf.add_to_collection("t", x)
    assert tf.get_collection("t", scope="s") == [x] and tf.get_collection("t", scope="q") == []
    fresh_graph.finalize()
    with pytest.raises(RuntimeError):
        tf.constant(1)


def test_slicing():
    x = np.arange(24).reshape(2, 3, 4)
    t = tf.constant(x)
    i = tf.constant(1)
    cases = [(0,), (slice(None), 1), (Ellipsis, 2), (slice(None, None, -1), None, slice(1, None)), (-1, -1, -1)]
    with tf.Session() as session:
        for case in cases:
            np.testing.assert_array_equal(session.run(t[case]), x[case])
        np.testing.assert_array_equal(session.run(t[:, i]), x[:, 1])
        np.testing.assert_array_equal(session.run(t[0:i + 1, i:, 0]), x[0:2, 1:, 0])


def test_consumers_and_attrs():
    x = tf.constant([1.0])
    y, z = x + 1, x * x
    assert [op.name for op in x.consumers()] == [y.op.name, z.op.name]
    m = gen_ops.mat_mul([[1.0]], [[2.0]], transpose_a=True)
    assert m.op.get_attr("transpose_a") is True and m.op.get_attr("T") == tf.float32
    assert m.op.node_def.op == "MatMul" and m.op.op_def.name == "MatMul"
    m.op._set_attr("_note", tf.AttrValue(s=b"hello"))
    assert m.op.get_attr("_note") == b"hello"
    attrs = {"dtype": tf.AttrValue(type=1), "value": tf.AttrValue(tensor=tf.make_tensor_proto([5.0]))}
    made = x.graph.create_op("Const", [], [tf.float32], attrs=attrs, name="made")
    copied = x.graph.create_op("Const", [], attrs=made.node_def.attr)
    with tf.Session() as session:
        assert session.run([made.outputs[0], copied.outputs[0]]) == [[5], [5]]


def test_gen_ops_results():
    unique = gen_ops.unique([1, 1, 2])
    assert unique._fields == ("y", "idx")
    parts = gen_ops.split(0, [1, 2, 3, 4], num_split=2)
    assert isinstance(parts, list) and len(parts) == 2
    assert gen_ops.no_op(name="nothing").name == "nothing"
    assert tf.raw_ops.Add(x=1, y=2).op.type == "Add"


def test_colocation_is_stronger_than_devices_outside():
    a = tf.constant(1, name="a")
    with tf.device("/job:ps"), tf.colocate_with(a):
        assert tf.identity(a).device == ""
        with tf.device("/cpu:0"):
            inside = tf.identity(a)
    assert inside.device == "/device:CPU:0" and inside.op.colocation_groups() == [b"loc:@a"]
    with tf.device("/job:ps/task:1"):
        b = tf.constant(2)
    with tf.colocate_with(b), tf.device("/cpu:0"):
        assert tf.identity(a).device == "/job:ps/task:1"


def test_errors_know_the_node(fresh_graph):
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(tf.gather([1, 2], tf.placeholder_with_default([5], [1]), name="taken"))
    assert caught.value.op.name == "taken" and caught.value.node_def.op == "GatherV2"


def test_import_with_mapped_tensors_and_no_scope():
    with tf.Graph().as_default() as source:
        tf.identity(tf.placeholder(tf.float32, [], name="x"), name="y")
    with tf.Graph().as_default() as graph:
        x = tf.constant(3.0)
        y, = tf.import_graph_def(source.as_graph_def(), input_map={"x": x}, return_elements=["y:0"], name="")
        assert y.name == "y:0" and y.op.inputs[0] is x
        with pytest.raises(ValueError, match="non-empty `name`"):
            tf.import_graph_def(source.as_graph_def(), input_map={"x": 3.0}, name="")
    assert graph.get_operation_by_name("y") is y.op


def test_no_numeric_checks_of_loops():
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0.0])
    with pytest.raises(ValueError, match="control flow"):
        tf.add_check_numerics_ops()


def test_small_types_are_fed_carried_and_cast():
    import ml_dtypes
    for name in ("float8_e5m2", "float8_e4m3fn", "int4", "uint4"):
        dtype, numpy_type = tf.as_dtype(name), getattr(ml_dtypes, name)
        assert dtype.as_numpy_dtype is numpy_type and dtype.size == 1
        assert dtype.is_floating == name.startswith("float") and dtype.is_integer == ("int" in name)
        x = np.array([[1, 2], [3, 4]]).astype(numpy_type)
        with tf.Graph().as_default(), tf.Session() as sess:
            fed = tf.placeholder(dtype, [None, 2])
            joined = tf.concat([fed, tf.constant(x)], 0)
            out, wide = sess.run([joined[1:3], tf.cast(joined, tf.int32)], {fed: x})
            assert out.dtype == numpy_type
            assert out.astype(np.float32).tolist() == [[3, 4], [1, 2]]
            assert wide.tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]
            assert sess.run(tf.cast(tf.constant([-1, 9]), dtype)).astype(np.float32).tolist() == {
                "int4": [-1, -7], "uint4": [15, 9]}.get(name, [-1, 9 if name == "float8_e4m3fn" else 8])
    with pytest.raises(ValueError, match="limits"):
        tf.as_dtype("int4").max


def test_constants_without_elements():
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.zeros([1, 0, 4])).shape == (1, 0, 4)
        assert sess.run(tf.constant(3, shape=[0])).shape == (0,)
        assert sess.run(tf.ones([2, 0], tf.int32)).dtype == "int32"
        with pytest.raises(ValueError):
            tf.constant([1, 2], shape=[0])


@pytest.mark.parametrize("given,wanted", [([None, 3], [2, 2]), ([2, None], [3, 5]), ([2, 3], [4]), ([4, None, 2], [12, 3])])
def test_reshape_to_an_impossible_shape(given, wanted):
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Cannot reshape"):
        tf.reshape(tf.placeholder(tf.float32, given), wanted)


def test_static_shapes_that_are_checked():
    with tf.Graph().as_default():
        assert tf.reshape(tf.placeholder(tf.float32, [None, 3]), [2, 3]).shape.as_list() == [2, 3]
        assert tf.reshape(tf.placeholder(tf.float32, [None, None]), [5]).shape.as_list() == [5]
        with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 6 from 5"):
            tf.nn.conv2d(tf.zeros([1, 5, 5, 1]), tf.zeros([6, 6, 1, 1]), [1, 1, 1, 1], "VALID")
        with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 5 from 3"):
            tf.nn.max_pool(tf.placeholder(tf.float32, [1, 3, 3, 1]), [1, 5, 5, 1], [1, 1, 1, 1], "VALID")
        with pytest.raises(ValueError, match="Fill dimensions must be >= 0"):
            tf.fill([2, -1], 0)


def test_messages_write_types_as_tensorflow_does():
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"= MatMul\[T=DT_FLOAT, .*with input shapes: \[2,3\], \[4,2\]\."):
        tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 2]))
