# SPDX-License-Identifier: Apache-2.0
"""tf.keras where scripts/models/keras_layers.py does not look: classes of models, data of all kinds, callbacks, files, estimators."""
import numpy as np
import pytest

import millstream as tf

K, layers = tf.keras.backend, tf.keras.layers
X = np.random.RandomState(0).randn(64, 4).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int64)


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(1)
    tf.set_random_seed(1)


def small(**compile_arguments):
    model = tf.keras.Sequential([layers.Dense(8, activation="relu", input_dim=4), layers.Dense(2, activation="softmax")])
    model.compile(**{"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"], **compile_arguments})
    return model


class Doubled(layers.Layer):
    def build(self, input_shape):
        self.factor = self.add_weight("factor", shape=[int(input_shape[-1])], initializer="ones", trainable=True)
        super().build(input_shape)

    def call(self, inputs):
        return inputs * self.factor * 2.0


class Net(tf.keras.Model):
    def __init__(self, units):
        super().__init__(name="net")
        self.hidden = layers.Dense(units, activation="relu")
        self.more = [Doubled(), layers.Dropout(0.5)]
        self.out = layers.Dense(2)

    def call(self, inputs, training=False):
        x = self.hidden(inputs)
        for layer in self.more:
            x = layer(x)
        return self.out(x)


def test_learns_mnist():
    (x, y), (x_test, y_test) = tf.keras.datasets.mnist.load_data()
    model = tf.keras.models.Sequential([layers.Flatten(input_shape=(28, 28)), layers.Dense(32, activation=tf.nn.relu),
                                        layers.Dropout(0.1), layers.Dense(10, activation=tf.nn.softmax)])
    model.compile(optimizer=tf.train.AdamOptimizer(0.005), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x[:3000] / 255.0, y[:3000], epochs=3, verbose=0)
    loss, accuracy = model.evaluate(x_test[:500] / 255.0, y_test[:500], verbose=0)
    assert accuracy > 0.8 and loss < 0.8


def test_a_model_of_a_class():
    model = Net(6)
    assert model.weights == []
    x = tf.placeholder(tf.float32, [None, 4])
    train, test = model(x, training=True), model(x, training=False)
    assert [v.name for v in model.trainable_weights] == [
        "net/dense/kernel:0", "net/dense/bias:0", "net/doubled/factor:0", "net/dense_1/kernel:0", "net/dense_1/bias:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b, c = [session.run(t, {x: X}) for t in (train, test, test)]
    assert np.array_equal(b, c) and not np.array_equal(a, b)  # dropout is told of training
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(X, Y, epochs=15, verbose=0).history["loss"]
    assert history[-1] < history[0]


def test_data_of_all_kinds():
    model = small()
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
    assert len(model.fit(dataset.repeat(), epochs=2, steps_per_epoch=3, verbose=0).epoch) == 2
    model.fit(dataset, epochs=2, verbose=0)  # all elements in each epoch

    def batches():
        while True:
            yield X[:8], Y[:8]
    history = model.fit_generator(batches(), steps_per_epoch=2, epochs=2, verbose=0, validation_data=(X, Y))
    assert set(history.history) == {"loss", "acc", "val_loss", "val_acc"}

    class Pairs(tf.keras.utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return X[i * 16:(i + 1) * 16], Y[i * 16:(i + 1) * 16]
    model.fit(Pairs(), verbose=0)
    assert model.predict(X, batch_size=10).shape == (64, 2)
    held = model.fit(X, Y, validation_split=0.25, verbose=0).history
    assert "val_loss" in held
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(X, Y[:5])
    with pytest.raises(RuntimeError, match="compile"):
        tf.keras.Sequential([layers.Dense(1, input_dim=4)]).fit(X, Y)


def test_callbacks(tmp_path):
    model, seen = small(optimizer=tf.keras.optimizers.SGD(0.1)), []

    class Watch(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((epoch, sorted(logs)))
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[
        Watch(), tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.5 / (epoch + 1)),
        tf.keras.callbacks.ModelCheckpoint(str(tmp_path / "w-{epoch}"), save_weights_only=True),
        tf.keras.callbacks.TensorBoard(str(tmp_path / "logs")), tf.keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))])
    assert [epoch for epoch, _ in seen] == [0, 1] and abs(K.get_value(model.optimizer.lr) - 0.25) < 1e-6
    assert (tmp_path / "w-2.index").exists() and list((tmp_path / "logs").iterdir())
    assert (tmp_path / "log.csv").read_text().startswith("epoch,")
    stop = tf.keras.callbacks.EarlyStopping(monitor="loss", min_delta=100.0, patience=1)
    assert len(model.fit(X, Y, epochs=9, verbose=0, callbacks=[stop]).epoch) == 2
    before = model.get_weights()
    model.load_weights(str(tmp_path / "w-1"))
    assert not np.array_equal(before[0], model.get_weights()[0])
    with pytest.raises(ImportError, match="HDF5"):
        model.save_weights("w.h5")


def test_progress_and_summary(capsys):
    model = small()
    model.fit(X, Y, epochs=2)
    model.summary()
    out = capsys.readouterr().out
    assert "Train on 64 samples" in out and "Epoch 2/2" in out and "acc: " in out
    assert "dense (Dense)" in out and "Total params: 58" in out


def test_layers_in_an_estimator(tmp_path):
    def model_fn(features, labels, mode):
        net = tf.keras.Sequential([layers.Dense(16, activation="relu"), layers.BatchNormalization(), layers.Dense(2)])
        logits = net(features, training=mode == tf.estimator.ModeKeys.TRAIN)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        with tf.control_dependencies(net.updates):
            train = tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops={
            "accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))})
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), tf.estimator.RunConfig(tf_random_seed=1))
    inputs = lambda n: lambda: tf.data.Dataset.from_tensor_slices((X, Y)).repeat(n).batch(32)
    estimator.train(inputs(30))
    assert estimator.evaluate(inputs(1))["accuracy"] > 0.8
    assert "sequential/batch_normalization/moving_mean" in estimator.get_variable_names()
    assert estimator.get_variable_value("sequential/batch_normalization/moving_mean").any()


def test_wrong_arguments():
    with pytest.raises(TypeError, match="not understood"):
        layers.Dense(3, colour="red")
    with pytest.raises(ValueError, match="Unknown activation"):
        layers.Dense(3, activation="best")
    with pytest.raises(ValueError, match="Could not interpret initializer"):
        layers.Dense(3, kernel_initializer="best")
    with pytest.raises(ValueError, match="min_ndim=2"):
        layers.Dense(3)(tf.constant([1.0]))
    with pytest.raises(ValueError, match="Unknown loss function"):
        small(loss="best").fit(X, Y)
    with pytest.raises(ValueError, match="weight list of length 1"):
        small().set_weights([X])
    with pytest.raises(ValueError, match="disconnected"):
        a, b = tf.keras.Input((2,)), tf.keras.Input((2,))
        tf.keras.Model(a, layers.Dense(1)(b))


def test_layer_normalization():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = np.random.RandomState(0).rand(2, 3, 4).astype(np.float32)
        layer = tf.keras.layers.LayerNormalization(axis=[1, 2], epsilon=0.1)
        y = layer(tf.constant(x))
        sess.run(tf.global_variables_initializer())
        expected = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 0.1)
        np.testing.assert_allclose(sess.run(y), expected, rtol=1e-5)
        assert [w.shape.as_list() for w in layer.weights] == [[3, 4], [3, 4]]
        with pytest.raises(ValueError):
            tf.keras.layers.LayerNormalization()(tf.placeholder(tf.float32, [2, None]))
