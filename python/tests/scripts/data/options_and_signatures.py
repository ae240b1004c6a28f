# SPDX-License-Identifier: Apache-2.0
"""Options of datasets; signatures and main ops of SavedModels."""

import tensorflow as tf, numpy as np, os, tempfile
o = tf.data.Options(); o.experimental_optimization.map_parallelization = True; o.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF; o.experimental_threading.private_threadpool_size = 2; o.experimental_deterministic = False
d = tf.data.Dataset.range(3).with_options(o).map(lambda x: x + 1)
print(o.experimental_distribute.auto_shard_policy, tf.data.Dataset.range(2).with_options(o).options().experimental_threading.private_threadpool_size)
try: o.nosuch = 1
except Exception as e: print(type(e).__name__)
n = tf.data.make_one_shot_iterator(d).get_next()
with tf.Session() as s: print([s.run(n) for _ in range(3)])
x = tf.placeholder(tf.float32, [None, 2], name="x"); w = tf.Variable([[1.], [2.]]); y = tf.matmul(x, w, name="y")
sig = tf.saved_model.predict_signature_def({"x": x}, {"y": y}); print(tf.saved_model.is_valid_signature(sig), tf.saved_model.is_valid_signature(None))
e = tf.saved_model.classification_signature_def(tf.placeholder(tf.string), tf.placeholder(tf.string), tf.placeholder(tf.float32)); print(tf.saved_model.is_valid_signature(e))
r = tf.saved_model.regression_signature_def(tf.placeholder(tf.string), y); print(tf.saved_model.is_valid_signature(r))
p = os.path.join(tempfile.mkdtemp(), "m")
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    b = tf.saved_model.builder.SavedModelBuilder(p)
    b.add_meta_graph_and_variables(s, [tf.saved_model.tag_constants.SERVING], {"serving_default": sig}, main_op=tf.saved_model.main_op.main_op(), strip_default_attrs=True); b.save()
with tf.Graph().as_default(), tf.Session() as s:
    m = tf.saved_model.loader.load(s, ["serve"], p); print(s.run(m.signature_def["serving_default"].outputs["y"].name, {m.signature_def["serving_default"].inputs["x"].name: [[1., 1.]]}))
print(tf.saved_model.maybe_saved_model_directory(p), tf.saved_model.contains_saved_model(p))
