# SPDX-License-Identifier: Apache-2.0
"""Names out of tensorflow.python.*, as many programs import them; freeze_graph; inspect_checkpoint."""

import os, tempfile, numpy as np
import tensorflow as tf
from tensorflow.python.ops import rnn, array_ops, math_ops, nn_ops, init_ops, control_flow_ops, embedding_ops
from tensorflow.python.ops import variable_scope as vs
from tensorflow.python.framework import graph_util, dtypes, ops, tensor_shape
from tensorflow.python.training import moving_averages, saver as saver_lib
from tensorflow.python.util import nest
from tensorflow.python.tools import freeze_graph, inspect_checkpoint
from tensorflow.python.platform import gfile
from tensorflow.python.client import timeline, device_lib
from tensorflow.python.summary.summary_iterator import summary_iterator
from tensorflow.python.ops.losses import losses as losses_lib
from tensorflow.python.eager import context
from tensorflow.core.framework import summary_pb2
from tensorflow.core.protobuf import config_pb2
import importlib

rnn_module = importlib.import_module("tensorflow.python.ops.rnn")
print(
    rnn_module is rnn,
    callable(rnn.dynamic_rnn),
    context.executing_eagerly(),
    nest.flatten([1, (2, {"a": 3})]),
    nest.map_structure(lambda x: x + 1, (1, [2])),
)
d = tempfile.mkdtemp()
with tf.Graph().as_default(), tf.Session() as s:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", [3, 2], initializer=tf.constant_initializer(np.arange(6).reshape(3, 2)))
    y = tf.matmul(x, w, name="y")
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(y))
    s.run(tf.global_variables_initializer())
    p = tf.train.Saver().save(s, d + "/m", write_meta_graph=True)
    tf.train.write_graph(s.graph_def, d, "g.pbtxt")
    tf.train.write_graph(s.graph_def, d, "g.pb", as_text=False)
freeze_graph.freeze_graph(
    d + "/g.pbtxt", "", False, d + "/m", "y", "save/restore_all", "save/Const:0", d + "/f1.pb", True, ""
)
freeze_graph.freeze_graph(
    d + "/g.pb", "", True, d + "/m", "y", "save/restore_all", "save/Const:0", d + "/f2.pb", True, ""
)
for f in ("f1", "f2"):
    g = tf.GraphDef()
    g.ParseFromString(gfile.FastGFile(d + "/%s.pb" % f, "rb").read())
    with tf.Graph().as_default(), tf.Session() as s:
        (o,) = tf.import_graph_def(g, return_elements=["y:0"], name="")
        print(f, sorted((n.op for n in g.node)), s.run(o, {"x:0": [[1, 2, 3]]}))
try:
    freeze_graph.freeze_graph(d + "/g.pb", "", True, d + "/nope", "y", "", "", d + "/f.pb", True, "")
except Exception as e:
    print(type(e).__name__)
inspect_checkpoint.print_tensors_in_checkpoint_file(d + "/m", tensor_name="w", all_tensors=False)
reader = tf.train.NewCheckpointReader(d + "/m")
print(sorted(reader.get_variable_to_shape_map()))
v = tf.Variable(1.0)
up = moving_averages.assign_moving_average(v, 3.0, 0.9, zero_debias=False)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    print(s.run(up))
