# SPDX-License-Identifier: Apache-2.0
"""Savers and checkpoints: names, limits, parts of models, other names, warm starts, readers, meta graphs, epochs of files."""
import glob
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
path = os.path.join(folder, "model")


def names(pattern):
    return sorted(os.path.basename(n) for n in glob.glob(os.path.join(folder, pattern)))


with tf.Graph().as_default():
    with tf.variable_scope("body"):
        w = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
        b = tf.get_variable("b", initializer=tf.constant([1.0, 2.0, 3.0]))
    with tf.variable_scope("head"):
        h = tf.get_variable("h", [3, 2], initializer=tf.ones_initializer())
    parts = tf.get_variable("parts", [5, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.constant_initializer(4.0))
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.identity(tf.matmul(tf.nn.relu(tf.matmul(x, w) + b), h), name="y")
    tf.add_to_collection("outputs", y)
    loss = tf.reduce_mean(tf.square(y)) + 0.0 * tf.reduce_sum(tf.convert_to_tensor(parts))
    train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
    saver = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=10000)
    body = tf.train.Saver(tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="body"))
    renamed = tf.train.Saver({"weights": w, "biases": b})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(4):
            sess.run(train, {x: [[1.0, 2.0]]})
            print(os.path.basename(saver.save(sess, path, global_step=step, write_meta_graph=i == 3)))
        print(names("model-*"), [os.path.basename(p) for p in saver.last_checkpoints])
        body.save(sess, os.path.join(folder, "body.ckpt"), latest_filename="body_state", write_meta_graph=False)
        renamed.save(sess, os.path.join(folder, "renamed.ckpt"), write_state=False, write_meta_graph=False)
        before = sess.run([w, b, y], {x: [[1.0, 1.0]]})
print(os.path.basename(tf.train.latest_checkpoint(folder)), os.path.basename(tf.train.latest_checkpoint(folder, "body_state")))
state = tf.train.get_checkpoint_state(folder)
print([os.path.basename(p) for p in state.all_model_checkpoint_paths])
for name, shape in tf.train.list_variables(folder):
    print(name, shape)
reader = tf.train.NewCheckpointReader(state.model_checkpoint_path)
print(reader.has_tensor("body/w"), reader.get_tensor("parts").shape, reader.get_variable_to_dtype_map()["body/b"], len(reader.get_variable_to_shape_map()))
print(sorted(n for n, _ in tf.train.list_variables(os.path.join(folder, "renamed.ckpt"))))

with tf.Graph().as_default(), tf.Session() as sess:
    loader = tf.train.import_meta_graph(state.model_checkpoint_path + ".meta", clear_devices=True)
    loader.restore(sess, state.model_checkpoint_path)
    graph = tf.get_default_graph()
    out = tf.get_collection("outputs")[0]
    print(out.name, np.allclose(sess.run(out, {graph.get_tensor_by_name("x:0"): [[1.0, 1.0]]}), before[2]))
    print([v.name for v in tf.trainable_variables()], sess.run("global_step:0"))
    features = tf.stop_gradient(graph.get_tensor_by_name("Relu:0"))
    new_head = tf.layers.dense(features, 1, kernel_initializer=tf.ones_initializer(), name="new_head")
    new = [v for v in tf.global_variables() if v.name.startswith("new_head")]
    sess.run(tf.variables_initializer(new))
    print(sess.run(new_head, {"x:0": [[1.0, 1.0]]}), sess.run(tf.report_uninitialized_variables()).tolist())

with tf.Graph().as_default(), tf.Session() as sess:
    with tf.variable_scope("other"):
        w = tf.get_variable("w", [2, 3])
        b = tf.get_variable("b", [3])
    tf.train.init_from_checkpoint(folder, {"body/": "other/"})
    sess.run(tf.global_variables_initializer())
    print(np.allclose(sess.run(w), before[0]), np.allclose(sess.run(b), before[1]))
    extra = tf.Variable(1.0, name="extra")
    for restore in (lambda: tf.train.Saver().restore(sess, state.model_checkpoint_path),
                    lambda: tf.train.Saver([extra]).restore(sess, os.path.join(folder, "nosuch")),
                    lambda: tf.train.Saver([tf.Variable(np.zeros([9, 9], np.float32), name="body/w")]).restore(
                        sess, state.model_checkpoint_path),
                    lambda: tf.train.Saver({}), lambda: tf.train.Saver([w, w]).save(sess, path)):
        try:
            restore()
            print("no error")
        except (tf.errors.OpError, ValueError, TypeError) as e:
            print(type(e).__name__)
with tf.Graph().as_default(), tf.Session() as sess:
    v = tf.Variable(5.0, name="v")
    s = tf.train.Saver(max_to_keep=None, save_relative_paths=True)
    sess.run(v.initializer)
    for i in range(3):
        tf.gfile.MakeDirs(os.path.join(folder, "rel"))
        s.save(sess, os.path.join(folder, "rel", "m"), global_step=i)
    print(open(os.path.join(folder, "rel", "checkpoint")).read())
    sess.run(v.assign(0.0))
    s.restore(sess, os.path.join(folder, "rel", "m-1"))
    print(sess.run(v), tf.train.checkpoint_exists(os.path.join(folder, "rel", "m-2")), tf.train.checkpoint_exists(path))
    meta = tf.train.export_meta_graph()
    print(meta.saver_def.restore_op_name, meta.meta_info_def.tensorflow_version != "", len(meta.graph_def.node) > 5)
shutil.rmtree(folder)
