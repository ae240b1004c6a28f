# SPDX-License-Identifier: Apache-2.0
"""Arguments that few programs give do what they say."""
import os

import numpy as np
import pytest

import millstream as tf
from millstream.client import default_config


def run(*fetches, **kwargs):
    with tf.Session(**kwargs) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches if len(fetches) > 1 else fetches[0])


def test_other_diagonals():
    m = np.arange(12).reshape(3, 4)
    above, band = run(tf.matrix_diag_part(m, k=1), tf.matrix_diag_part(m, k=(-1, 1), padding_value=-7))
    assert above.tolist() == [1, 6, 11]
    assert band.tolist() == [[1, 6, 11], [0, 5, 10], [4, 9, -7]]
    built, padded = run(tf.matrix_diag([1, 2], k=1), tf.matrix_diag([1, 2], num_rows=2, num_cols=3, padding_value=9))
    assert built.tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]] and padded.tolist() == [[1, 9, 9], [9, 2, 9]]
    assert run(tf.matrix_set_diag(np.zeros([2, 2], np.int32), [5], k=-1)).tolist() == [[0, 0], [5, 0]]


def test_adjoints_of_complex_diagonals():
    diagonal, x = np.array([1 + 2j, 3j]), np.array([[1 + 1j], [2]])
    operator = tf.linalg.LinearOperatorDiag(diagonal)
    product, solved = run(operator.matmul(x, adjoint=True), operator.solve(x, adjoint=True))
    np.testing.assert_allclose(product, np.conj(np.diag(diagonal)).T @ x)
    np.testing.assert_allclose(solved, np.linalg.solve(np.conj(np.diag(diagonal)).T, x))


def test_colors_of_boxes():
    drawn = run(tf.image.draw_bounding_boxes(np.zeros([1, 4, 4, 3], np.float32), [[[0.0, 0.0, 1.0, 1.0]]], colors=[[0.25, 0.5, 0.75]]))
    assert drawn[0, 0, 0].tolist() == [0.25, 0.5, 0.75]


def test_keras_bias_of_channels_first():
    x = tf.zeros([1, 2, 3, 3])
    assert run(tf.keras.backend.bias_add(x, tf.constant([1.0, 2.0]), "channels_first"))[0, :, 0, 0].tolist() == [1, 2]


def test_blank_of_greedy_ctc():
    logits = np.log(np.array([[[0.8, 0.1, 0.1]], [[0.1, 0.8, 0.1]], [[0.1, 0.1, 0.8]]], np.float32))
    decoded, _ = tf.nn.ctc_greedy_decoder(logits, [3], blank_index=0)
    assert run(decoded[0]).values.tolist() == [1, 2]


def test_collections_of_contrib_variables():
    x = tf.ones([2, 4, 4, 3])
    tf.contrib.layers.conv2d(x, 2, 3, scope="a", variables_collections=["all"], normalizer_fn=tf.contrib.layers.batch_norm)
    tf.contrib.layers.fully_connected(x, 2, scope="b", variables_collections={"biases": ["some"], "weights": ["others"]})
    tf.contrib.layers.separable_conv2d(x, 2, 3, scope="c", variables_collections={"weights": ["apart"]})
    tf.contrib.layers.batch_norm(x, scope="d", variables_collections={"beta": ["betas"], "moving_mean": ["means"]})
    tf.contrib.layers.instance_norm(x, scope="e", variables_collections={"gamma": ["gammas"]})
    found = {name: [v.op.name for v in tf.get_collection(name)]
             for name in ("all", "some", "others", "apart", "betas", "means", "gammas")}
    assert found == {"all": ["a/weights"], "some": ["b/biases"], "others": ["b/weights"],
                     "apart": ["c/depthwise_weights", "c/pointwise_weights"], "betas": ["d/beta"], "means": ["d/moving_mean"],
                     "gammas": ["e/gamma"]}


@pytest.mark.parametrize("make", [
    lambda: tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1),
    lambda: tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.float32, [0.0, 0.0], -1, deleted_key=-2)])
def test_tables_are_saved(make, tmp_path):
    table = make()
    keys = ["a", "b"] if table.key_dtype == tf.string else [3, 4]
    values = [1, 2] if table.value_dtype == tf.int64 else [[1.0, 2.0], [3.0, 4.0]]
    found, insert, remove = table.lookup(tf.constant(keys, table.key_dtype)), table.insert(keys, values), table.remove(keys)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(insert)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(remove)
        assert session.run(table.size()) == 0
        saver.restore(session, path)
        assert session.run(found).tolist() == values
    name = table.resource_handle.op.name
    assert {n for n, _ in tf.train.list_variables(path)} == {f"{name}-keys", f"{name}-values"}


def test_tables_that_are_not_saved():
    tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, checkpoint=False)
    assert not tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)


def test_parallel_reads_take_files_in_turn(tmp_path):
    names = [str(tmp_path / f"{i}.txt") for i in range(3)]
    for i, name in enumerate(names):
        with open(name, "w", encoding="utf-8") as f:
            f.write("".join(f"{i}{j}\n" for j in range(3)))
    get = tf.data.TextLineDataset(names, num_parallel_reads=2).batch(9).make_one_shot_iterator().get_next()
    assert [x.decode() for x in run(get)] == ["00", "10", "01", "11", "02", "12", "20", "21", "22"]
    whole = tf.data.TextLineDataset(names).batch(9).make_one_shot_iterator().get_next()
    assert [x.decode() for x in run(whole)][:3] == ["00", "01", "02"]


@pytest.mark.parametrize("calls", [None, 2, tf.data.experimental.AUTOTUNE])
def test_parallel_interleaving_keeps_the_order(calls):
    dataset = tf.data.Dataset.range(3).interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2,
                                                  num_parallel_calls=calls)
    get = dataset.batch(9).make_one_shot_iterator().get_next()
    assert run(get).tolist() == [0, 0, 1, 1, 0, 1, 2, 2, 2]


def test_optimize_loss():
    w = tf.get_variable("w", [3], initializer=tf.zeros_initializer())
    tf.set_random_seed(1)
    train = tf.contrib.layers.optimize_loss(tf.reduce_sum(w), tf.train.get_or_create_global_step(), 1.0, "SGD", gradient_noise_scale=0.5,
                                            clip_gradients=100.0, summaries=["loss", "gradients", "gradient_norm"])
    tags = sorted(t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES))
    assert tags == ["OptimizeLoss/" + t for t in ("global_norm/clipped_gradient_norm", "global_norm/gradient_norm", "gradient_norm/w_0",
                                                  "gradients/w_0", "loss")]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        moved = session.run(w)
    assert len(set(moved.tolist())) == 3 and (np.abs(moved + 1) <= 1.0).all()


def test_states_that_dropout_leaves_alone():
    def visit(state):
        return tf.nn.rnn_cell.LSTMStateTuple(c=True, h=False) if isinstance(state, tf.nn.rnn_cell.LSTMStateTuple) else True
    for visitor, kept in ((None, "c"), (visit, "h")):
        cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicLSTMCell(50, name=f"cell_{kept}"), state_keep_prob=0.5,
                                             dropout_state_filter_visitor=visitor)
        _, state = cell(tf.ones([1, 2]), cell.zero_state(1, tf.float32))
        c, h = run(state.c, state.h)
        assert (c == 0).any() == (kept != "c") and (h == 0).any() == (kept != "h")


@pytest.fixture
def own_defaults():
    yield
    default_config.reset()
    from millstream.platform import device_config
    device_config._settings["cpus"] = None


def test_settings_of_sessions_without_a_config(own_defaults, capfd):
    tf.config.set_soft_device_placement(True)
    tf.config.experimental.set_virtual_device_configuration(
        tf.config.experimental.list_physical_devices("CPU")[0], [tf.config.experimental.VirtualDeviceConfiguration()] * 2)
    tf.config.threading.set_intra_op_parallelism_threads(3)
    assert len(tf.config.experimental.list_logical_devices("CPU")) == 2
    with tf.device("/gpu:0"):
        value = tf.constant(1.0) + 1
    with tf.Session() as session:
        assert session._config.intra_op_parallelism_threads == 3
        assert session.run(value) == 2.0
        assert sorted(d.name[-5:] for d in session.list_devices()) == ["CPU:0", "CPU:1"]
    with tf.Session(config=tf.ConfigProto()) as session:
        assert len(session.list_devices()) == 1
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    with tf.Session() as session:
        session.run(value)
    assert "add" in capfd.readouterr().err


def test_host_calls_of_tpu_models(tmp_path):
    seen = []

    def model_fn(features, labels, mode, params):
        loss = tf.reduce_mean(features["x"] * tf.get_variable("w", []))
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        host = (lambda s: tf.py_func(lambda v: seen.append(int(v)) or np.int64(0), [s], tf.int64), [tf.reshape(step, [])])
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=host)
    estimator = tf.contrib.tpu.TPUEstimator(model_fn, str(tmp_path), tf.contrib.tpu.RunConfig(), use_tpu=False, train_batch_size=2)
    estimator.train(lambda params: tf.data.Dataset.from_tensors(({"x": np.ones([2, 1], np.float32)}, [0, 0])).repeat(5), steps=3)
    assert len(seen) == 3


def test_the_best_exporter_remembers_earlier_runs(tmp_path):
    exported = []

    class Model:
        model_dir = str(tmp_path)

        def export_saved_model(self, folder, *args, **kwargs):
            exported.append(folder)
            os.makedirs(os.path.join(folder, "1"))
            return os.path.join(folder, "1").encode()
    writer = tf.summary.FileWriter(str(tmp_path / "eval"))
    for loss in (0.5, 0.2, 0.4):
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=loss)]), 1)
    writer.close()
    exporter = tf.estimator.BestExporter("best", lambda: None, event_file_pattern="eval/*tfevents*")
    exporter.export(Model(), str(tmp_path / "out"), None, {"loss": 0.3}, False)
    assert not exported
    exporter.export(Model(), str(tmp_path / "out"), None, {"loss": 0.1}, False)
    assert len(exported) == 1


def test_chief_hooks_of_contrib_models(tmp_path):
    seen = []

    class Hook(tf.train.SessionRunHook):
        def end(self, session):
            seen.append("end")

    def model_fn(features, labels, mode):
        loss = tf.reduce_mean(tf.get_variable("w", []) * features)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.contrib.learn.ModelFnOps(mode, features, loss, train, training_chief_hooks=[Hook()])
    tf.contrib.learn.Estimator(model_fn, str(tmp_path)).fit(np.ones([4, 1], np.float32), np.ones([4]), steps=1, batch_size=2)
    assert seen == ["end"]


def test_batches_of_a_sequence_are_shuffled():
    class Rows(tf.keras.utils.Sequence):
        seen = []

        def __len__(self):
            return 20

        def __getitem__(self, index):
            self.seen.append(index)
            return np.full([1, 1], index, np.float32), np.zeros([1, 1], np.float32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse")
    for shuffle, same in ((False, True), (True, False)):
        Rows.seen.clear()
        model.fit_generator(Rows(), epochs=1, shuffle=shuffle, verbose=0)
        assert sorted(Rows.seen) == list(range(20)) and (Rows.seen == list(range(20))) == same


def test_queues_of_inputs_have_the_summaries_that_they_are_told():
    tf.train.string_input_producer(["a"])
    from millstream.training import input as input_lib
    input_lib.input_producer(tf.constant([1, 2]), summary_name="mine")
    input_lib.input_producer(tf.constant([1, 2]))
    names = [t.op.name.rpartition("/")[2] for t in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert names == ["fraction_of_32_full", "mine"]


def test_keyed_hashes_of_unknown_words():
    words = [f"word {i}" for i in range(20)]
    spec = tf.contrib.lookup.StrongHashSpec([12345, 67890])
    table = tf.contrib.lookup.index_table_from_tensor(["a"], num_oov_buckets=100, hasher_spec=spec)
    plain = tf.contrib.lookup.index_table_from_tensor(["a"], num_oov_buckets=100)
    keyed, fast, expected = run(table.lookup(tf.constant(["a"] + words)), plain.lookup(tf.constant(["a"] + words)),
                                tf.string_to_hash_bucket_strong(words, 100, key=[12345, 67890]))
    assert keyed.tolist() == [0] + (expected + 1).tolist() and keyed.tolist() != fast.tolist()
    with pytest.raises(ValueError, match="size 2"):
        tf.contrib.lookup.StrongHashSpec([1])
