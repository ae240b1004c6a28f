# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import millstream as tf


def test_simple_save_and_load(tmp_path):
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        y = tf.matmul(x, w, name="y")
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
        with pytest.raises(AssertionError, match="isn't empty"):
            tf.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
    assert tf.saved_model.contains_saved_model(folder)
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder)
        signature = meta.signature_def[tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        assert signature.method_name == "tensorflow/serving/predict"
        got = sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[3.0, 4.0]]})
        np.testing.assert_array_equal(got, [[11.0]])
        assert [v.name for v in tf.trainable_variables()] == ["w:0"]
        with pytest.raises(RuntimeError, match="could not be found"):
            tf.saved_model.loader.load(sess, ["other"], folder)


def test_builder_with_init_op_and_text(tmp_path):
    folder = str(tmp_path / "m")
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0, name="v")
        tf.Variable(0.0, name="extra", collections=[tf.GraphKeys.LOCAL_VARIABLES])
        init = tf.group(tf.local_variables_initializer(), name="make_ready")
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        info = tf.saved_model.utils.build_tensor_info(v)
        signature = tf.saved_model.signature_def_utils.build_signature_def({}, {"v": info}, "mine")
        builder.add_meta_graph_and_variables(sess, ["serve"], {"s": signature}, main_op=init)
        builder.save(as_text=True)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], folder, import_scope="in")
        assert sess.run("in/v:0") == 1 and sess.run("in/extra:0") == 0
