# SPDX-License-Identifier: Apache-2.0
"""SavedModels: the builder with signatures, assets and tables, simple_save, the loader; freezing a graph."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

base = tempfile.mkdtemp()
export_dir = os.path.join(base, "1")
vocabulary = os.path.join(base, "words.txt")
with tf.gfile.GFile(vocabulary, "w") as f:
    f.write("red\ngreen\nblue\n")

with tf.Graph().as_default(), tf.Session() as sess:
    names = tf.placeholder(tf.string, [None], name="names")
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(
        vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), -1)
    ids = table.lookup(names)
    w = tf.get_variable("w", initializer=np.array([[1.0, -1.0, 0.5], [0.25, 2.0, -0.5]], np.float32))
    y = tf.nn.softmax(tf.matmul(x, w), name="y")
    classes = tf.argmax(y, 1, name="classes")
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    builder = tf.saved_model.builder.SavedModelBuilder(export_dir)
    signature = tf.saved_model.signature_def_utils.build_signature_def(
        inputs={"x": tf.saved_model.utils.build_tensor_info(x)},
        outputs={"y": tf.saved_model.utils.build_tensor_info(y), "classes": tf.saved_model.utils.build_tensor_info(classes)},
        method_name=tf.saved_model.signature_constants.PREDICT_METHOD_NAME)
    lookup = tf.saved_model.signature_def_utils.predict_signature_def({"names": names}, {"ids": ids})
    builder.add_meta_graph_and_variables(
        sess, [tf.saved_model.tag_constants.SERVING],
        signature_def_map={tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature, "lookup": lookup},
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), main_op=tf.tables_initializer())
    builder.save()
    frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph.as_graph_def(), ["classes", "y"])
    print("before", sess.run([y, ids], {x: [[1, 2]], names: ["blue", "black"]}))
print(sorted(os.path.relpath(os.path.join(d, n), export_dir) for d, _, ns in os.walk(export_dir) for n in ns))
os.remove(vocabulary)

with tf.Graph().as_default(), tf.Session() as sess:
    meta = tf.saved_model.loader.load(sess, ["serve"], export_dir)
    signature = meta.signature_def["serving_default"]
    print(sorted(meta.signature_def), signature.method_name, signature.inputs["x"].name, sorted(signature.outputs))
    feed = {signature.inputs["x"].name: [[1.0, 2.0], [-3.0, 0.5]]}
    print(sess.run([signature.outputs["y"].name, signature.outputs["classes"].name], feed))
    lookup = meta.signature_def["lookup"]
    print(sess.run(lookup.outputs["ids"].name, {lookup.inputs["names"].name: ["green", "pink", "red"]}))
    print([v.name for v in tf.global_variables()], tf.saved_model.loader.maybe_saved_model_directory(export_dir))

with tf.Graph().as_default() as graph:
    y, = tf.import_graph_def(frozen, name="frozen", return_elements=["y:0"])
    print(sorted({n.op for n in graph.as_graph_def().node}), y.name)
    with tf.Session() as sess:
        print(sess.run(y, {"frozen/x:0": [[1.0, 2.0]]}))

simple = os.path.join(base, "simple")
with tf.Graph().as_default(), tf.Session() as sess:
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(3.0)
    sess.run(v.initializer)
    tf.saved_model.simple_save(sess, simple, inputs={"x": x}, outputs={"y": x * v})
with tf.Session(graph=tf.Graph()) as sess:
    meta = tf.saved_model.load(sess, [tf.saved_model.SERVING], simple)
    info = meta.signature_def[tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    print(sess.run(info.outputs["y"].name, {info.inputs["x"].name: 7.0}), tf.saved_model.contains_saved_model(base))
    try:
        tf.saved_model.loader.load(sess, ["train"], simple)
    except RuntimeError as e:
        print("RuntimeError", "train" in str(e))
shutil.rmtree(base)
