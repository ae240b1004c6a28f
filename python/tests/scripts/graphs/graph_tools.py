# SPDX-License-Identifier: Apache-2.0
"""What programs do to graphs: imports with input maps, walks over ops, devices, collections, callables, partial runs, sub graphs."""
import numpy as np
import tensorflow as tf

g1 = tf.Graph()
with g1.as_default():
    a = tf.placeholder(tf.float32, [None, 2], name="a")
    with tf.name_scope("block"), tf.device("/cpu:0"):
        w = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="w")
        m = tf.matmul(a, w, name="m")
    out = tf.nn.relu(m - 5.0, name="out")
    unused = tf.constant(1, name="unused")
definition = g1.as_graph_def()
print([(n.name, n.op, list(n.input)) for n in definition.node])
print(m.op.node_def.attr["transpose_a"].b, m.op.get_attr("T").name, m.device, m.op.inputs[0].name, [t.name for t in m.consumers()])
sub = tf.graph_util.extract_sub_graph(definition, ["out"])
print([n.name for n in sub.node])

with tf.Graph().as_default() as g2:
    x = tf.constant([[1.0, 1.0], [2.0, 0.0]])
    y, op = tf.import_graph_def(definition, input_map={"a:0": x * 2.0}, return_elements=["out:0", "block/m"], name="imported")
    print(y.name, op.name, len(g2.get_operations()), g2.get_operation_by_name("imported/out").type)
    with tf.Session(graph=g2) as sess:
        print(sess.run(y), sess.run("imported/out:0"))
    for bad in (lambda: g2.get_tensor_by_name("nosuch:0"), lambda: g2.get_tensor_by_name("x"), lambda: g2.get_operation_by_name("n"),
                lambda: tf.import_graph_def(definition, input_map={"zzz:0": x}), lambda: g2.as_graph_element(3)):
        try:
            bad()
        except (KeyError, ValueError, TypeError) as e:
            print(type(e).__name__)

with tf.Graph().as_default() as g3:
    tf.add_to_collection("mine", "text")
    tf.add_to_collection("mine", 5)
    print(tf.get_collection("mine"), g3.get_all_collection_keys(), tf.get_collection("none"))
    p, q = tf.placeholder(tf.float32, name="p"), tf.placeholder(tf.float32, name="q")
    r1, r2 = p + q, p * q
    r3 = r1 * 10.0
    with tf.Session() as sess:
        handle = sess.partial_run_setup([r1, r3], [p, q])
        first = sess.partial_run(handle, r1, feed_dict={p: 2.0, q: 3.0})
        print(first, sess.partial_run(handle, r3))
        fast = sess.make_callable([r1, r2], feed_list=[p, q])
        print(fast(1.0, 4.0), sess.run(r1, {"p:0": 1.0, q: 1.0}), sess.run(r1, {r1: 42.0}))
        print(sess.run([r1, [r2, {"k": r3}], ()], {p: np.float64(1), q: 2}))
        print(r1.eval({p: 1, q: 2}), sess.graph is g3, tf.get_default_session() is sess)
    print(p.shape, p.get_shape().ndims, tf.TensorShape([None, 3]).as_list(), tf.TensorShape([2, 3]).num_elements(),
          tf.TensorShape([None, 3]).is_compatible_with([5, 3]), tf.TensorShape([1]).concatenate([2]), tf.Dimension(3) + 2)
    g3.finalize()
    try:
        tf.constant(1)
    except RuntimeError as e:
        print("RuntimeError", "finalized" in str(e))

with tf.Graph().as_default():
    def setter(op):
        return "/job:ps/task:0" if op.type == "VariableV2" else "/job:worker/task:1"
    with tf.device(setter):
        v = tf.Variable([1.0], name="v")
        z = v * 2.0
        with tf.device("/gpu:1"):
            u = z + 1.0
        with tf.colocate_with(v):
            c = tf.constant(3.0, name="c")
    print(v.device, z.device, u.device, c.device, c.op.colocation_groups())
    with tf.name_scope("outer") as s:
        with tf.name_scope("inner"):
            t = tf.identity(z, name="t")
        with tf.name_scope("inner"):
            t2 = tf.identity(z, name="t")
        with tf.name_scope(s):
            t3 = tf.identity(z, name="t")
        with tf.name_scope(None):
            t4 = tf.identity(z, name="t")
    print(s, t.name, t2.name, t3.name, t4.name)
    with tf.control_dependencies([t.op]):
        after = tf.no_op(name="after")
        with tf.control_dependencies(None):
            free = tf.no_op(name="free")
    print([o.name for o in after.control_inputs], [o.name for o in free.control_inputs])
    grads = tf.gradients(u, v)
    print(grads[0].op.type, tf.gradients([u, z], [v], name="mygrad")[0].op.type)
    print(tf.trainable_variables()[0].initial_value.name, v.initializer.name, v.value().name.split(":")[0], v.op.name)
    print(tf.convert_to_tensor([1, 2]).dtype.name, tf.convert_to_tensor(1.5).dtype.name, tf.constant(2.0, shape=[2, 2]).shape, tf.zeros([2], tf.int32).dtype)
    print(repr(t), str(v))
    for bad in (lambda: tf.constant([1, 2]) + tf.constant([1.0, 2.0]), lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])),
                lambda: tf.constant("a", tf.float32), lambda: bool(t), lambda: tf.reshape(tf.zeros([4]), [3]), lambda: [i for i in tf.placeholder(tf.float32)],
                lambda: tf.nn.softmax_cross_entropy_with_logits(tf.zeros([1]), tf.zeros([1])), lambda: tf.get_variable("novalue")):
        try:
            bad()
            print("no error")
        except (TypeError, ValueError) as e:
            print(type(e).__name__)
