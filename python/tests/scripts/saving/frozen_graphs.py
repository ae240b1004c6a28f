# SPDX-License-Identifier: Apache-2.0
"""Graphs with constants in place of variables, written, read and imported."""

import tensorflow as tf, numpy as np, tempfile, os
from tensorflow.python.framework import graph_util

d = tempfile.mkdtemp()
with tf.Graph().as_default() as g:
    x = tf.placeholder(tf.float32, [None, 3], name="input")
    with tf.variable_scope("l1"):
        w = tf.get_variable("w", [3, 2], initializer=tf.constant_initializer([[1, 2], [3, 4], [5, 6]]))
        b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
    y = tf.nn.softmax(tf.nn.xw_plus_b(x, w, b), name="output")
    un = tf.Variable(3.0, name="unused")
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        gd = tf.graph_util.convert_variables_to_constants(s, g.as_graph_def(), ["output"])
        print([n.name + ":" + n.op for n in gd.node])
        gd2 = tf.graph_util.convert_variables_to_constants(
            s, g.as_graph_def(), ["output"], variable_names_blacklist=["l1/b"]
        )
        print(sorted((n.op for n in gd2.node)))
        tf.train.write_graph(gd, d, "f.pb", as_text=False)
        tf.train.write_graph(gd, d, "f.pbtxt")
        sub = tf.graph_util.extract_sub_graph(g.as_graph_def(), ["l1/w/read"])
        print([n.name for n in sub.node])
        tf.graph_util.remove_training_nodes(gd)
with tf.Graph().as_default() as g:
    gd = tf.GraphDef()
    with tf.gfile.GFile(os.path.join(d, "f.pb"), "rb") as f:
        gd.ParseFromString(f.read())
    (o,) = tf.import_graph_def(gd, return_elements=["output:0"], name="pre")
    print(o.name, [op.name for op in g.get_operations()])
    with tf.Session() as s:
        print(s.run(o, {"pre/input:0": [[1, 0, -1]]}))
    from google.protobuf import text_format

    gd = tf.GraphDef()
    text_format.Merge(tf.gfile.Open(os.path.join(d, "f.pbtxt")).read(), gd)
    print(len(gd.node))
    new = tf.placeholder(tf.float32, [None, 3])
    (o2,) = tf.import_graph_def(gd, input_map={"input": new * 2.0}, return_elements=["output"], name="")
    print(type(o2).__name__, o2.name)
    try:
        tf.import_graph_def(gd, input_map={"nope": new})
    except ValueError as e:
        print(str(e)[:120])
    try:
        tf.import_graph_def(gd, return_elements=["nope:0"])
    except ValueError as e:
        print(str(e)[:120])
