# SPDX-License-Identifier: Apache-2.0
"""Arguments that would change what is computed, and that nothing is done with, are errors."""
import numpy as np
import pytest

import millstream as tf

X = np.ones([4, 2], np.float32)


def columns():
    return [tf.feature_column.numeric_column("x", [2])]


@pytest.mark.parametrize("call", [
    lambda: tf.matmul(X, X.T, output_type=tf.int32),
    lambda: tf.linalg.tridiagonal_solve(np.ones([3, 2]), np.ones([2]), perturb_singular=True),
    lambda: (tf.ragged.constant, tf.gather)[1](tf.ragged.constant([[1], [2, 3]]), [0], axis=1),
    lambda: tf.contrib.layers.batch_norm(X, batch_weights=np.ones(4)),
    lambda: tf.contrib.layers.batch_norm(X, zero_debias_moving_mean=True),
    lambda: tf.contrib.layers.batch_norm(X, renorm=True),
    lambda: tf.contrib.layers.sparse_column_with_hash_bucket("a", 4, combiner="mean"),
    lambda: tf.contrib.layers.sparse_column_with_hash_bucket("a", 4, hash_keys=[[1, 2]]),
    lambda: tf.contrib.layers.sparse_column_with_keys("a", ["b"], combiner="sqrtn"),
    lambda: tf.contrib.learn.DNNClassifier([2], columns(), gradient_clip_norm=1.0),
    lambda: tf.contrib.learn.LinearClassifier(columns(), feature_engineering_fn=lambda f, l: (f, l)),
    lambda: tf.contrib.learn.LinearRegressor(columns()).fit(X, X[:, :1], steps=1, monitors=[object()]),
    lambda: tf.contrib.training.HParams(hparam_def=object()),
    lambda: tf.contrib.slim.learning.train(tf.constant(1.0), None, trace_every_n_steps=3),
    lambda: tf.contrib.tpu.TPUEstimator(lambda features, labels, mode: None, use_tpu=False, embedding_config_spec=object()),
    lambda: tf.data.Dataset.range(2).apply(tf.data.experimental.prefetch_to_device("/gpu:0")),
    lambda: tf.data.Dataset.range(2).apply(tf.data.experimental.copy_to_device("/device:GPU:1")),
    lambda: tf.config.experimental.set_visible_devices([], "CPU"),
    lambda: tf.keras.backend.categorical_crossentropy(tf.constant(X), tf.constant(X), axis=0),
    lambda: tf.keras.backend.sparse_categorical_crossentropy(tf.constant([0, 1]), tf.constant(X), axis=0),
    lambda: tf.keras.backend.function([], [tf.constant(1)], options=object()),
    lambda: tf.keras.layers.Dense(2, dynamic=True),
    lambda: tf.keras.layers.Layer().add_weight("w", [2], partitioner=tf.fixed_size_partitioner(2)),
    lambda: tf.keras.callbacks.ModelCheckpoint("x", save_freq=100),
    lambda: tf.keras.callbacks.TensorBoard(histogram_freq=1),
    lambda: tf.keras.callbacks.TensorBoard(update_freq="batch"),
    lambda: tf.keras.callbacks.TensorBoard(embeddings_freq=1),
    lambda: model().compile("sgd", "mse", distribute=object()),
    lambda: model().compile("sgd", "mse", weighted_metrics=["mse"]),
    lambda: model().evaluate(X, X[:, :1], callbacks=[tf.keras.callbacks.Callback()]),
    lambda: model().load_weights("x", by_name=True),
    lambda: tf.keras.optimizers.SGD().minimize(tf.constant(1.0), [], grad_loss=tf.constant(1.0)),
    lambda: tf.keras.utils.get_file("x", "y", untar=True),
])
def test_not_supported(call):
    with pytest.raises(NotImplementedError, match="not supported|cannot be|on CPUs only|may only|renorm"):
        call()


def model():
    made = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    made.compile("sgd", "mse")
    return made


@pytest.mark.parametrize("call", [
    lambda: model().fit(X, X[:, :1], nosuch=1),
    lambda: model().predict(X, nosuch=1),
    lambda: model().fit_generator(iter([]), 1, nosuch=1),
    lambda: tf.keras.callbacks.ReduceLROnPlateau(nosuch=1),
    lambda: tf.keras.layers.Layer().add_weight("w", [2], nosuch=1),
    lambda: tf.contrib.tpu.TPUConfig(nosuch=1),
    lambda: tf.contrib.tpu.TPUEstimator(lambda features, labels, mode: None, use_tpu=False, nosuch=1),
])
def test_unknown_arguments(call):
    with pytest.raises(TypeError, match="nosuch"):
        call()


def test_wrong_values():
    with pytest.raises(ValueError, match="NHWC"):
        tf.nn.max_pool_with_argmax(np.ones([1, 2, 2, 1], np.float32), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", data_format="NCHW")
    with pytest.raises(ValueError, match="Summaries should be one of"):
        tf.contrib.layers.optimize_loss(tf.constant(1.0), tf.train.get_or_create_global_step(), 0.1, "SGD", summaries=["nosuch"])
    with pytest.raises(ValueError, match="startup_delay_steps"):
        tf.contrib.slim.learning.train(tf.constant(1.0), None, startup_delay_steps=3, sync_optimizer=object())
    with pytest.raises(ValueError, match="Unrecognized device"):
        tf.config.experimental.set_visible_devices(["GPU"])
