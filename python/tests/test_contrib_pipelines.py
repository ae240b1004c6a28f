# SPDX-License-Identifier: Apache-2.0
"""contrib.tpu without TPUs, contrib.training's buckets, contrib.staging, cluster resolvers, further cells of contrib.rnn."""
import json

import numpy as np
import pytest

import millstream as tf

X = np.random.RandomState(0).randn(64, 3).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int32)


def test_an_estimator_for_tpus_without_one(tmp_path):
    seen = []

    def model_fn(features, labels, mode, params):
        seen.append((mode, params["batch_size"], params["width"]))
        logits = tf.layers.dense(features, 2)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, predictions={"p": tf.nn.softmax(logits)}, scaffold_fn=None)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        if mode == tf.estimator.ModeKeys.TRAIN:
            train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
            return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train, scaffold_fn=None)

        def metric_fn(labels, logits):
            return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}
        return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, eval_metrics=(metric_fn, [labels, logits]))

    def input_fn(params):
        return tf.data.Dataset.from_tensor_slices((X, Y)).batch(params["batch_size"])
    config = tf.contrib.tpu.RunConfig(cluster=None, master=None, model_dir=str(tmp_path), save_checkpoints_steps=100,
                                      tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=10, num_shards=8,
                                                                          per_host_input_for_training=3))
    arguments = dict(model_fn=model_fn, config=config, params={"width": 5}, train_batch_size=8, eval_batch_size=16, predict_batch_size=4)
    estimator = tf.contrib.tpu.TPUEstimator(use_tpu=False, **arguments)
    for _ in range(4):
        estimator.train(input_fn=input_fn)
    assert estimator.evaluate(input_fn)["accuracy"] > 0.8
    assert len(list(estimator.predict(input_fn))) == 64
    assert {s for s in seen} == {("train", 8, 5), ("eval", 16, 5), ("infer", 4, 5)}
    with pytest.raises(ValueError, match="no TPUs"):
        tf.contrib.tpu.TPUEstimator(use_tpu=True, **arguments)


@pytest.mark.parametrize("as_dict", [False, True])
def test_buckets(as_dict):
    length = tf.train.limit_epochs(tf.train.range_input_producer(10, num_epochs=2, shuffle=False).dequeue() + 1)
    words = tf.fill([length], length)
    given = {"words": words} if as_dict else [words]
    lengths, batch = tf.contrib.training.bucket_by_sequence_length(
        length, given, batch_size=2, bucket_boundaries=[4, 8], dynamic_pad=True, allow_smaller_final_batch=True, capacity=16)
    found = batch["words"] if as_dict else batch[0]
    rows = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                sizes, values = session.run([lengths, found])
                assert values.shape[1] == max(sizes) and len({sum(s >= b for b in (4, 8)) for s in sizes}) == 1
                rows += sizes.tolist()
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(rows) == sorted(list(range(1, 11)) * 2)
    with pytest.raises(ValueError, match="increasing"):
        tf.contrib.training.bucket_by_sequence_length(length, [words], 2, [4, 4])


def test_staging_area():
    area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], shapes=[[2], []])
    fed = tf.placeholder(tf.float32, [2])
    put, (a, b), size = area.put([fed, 7]), area.get(), area.size()
    named = tf.contrib.staging.StagingArea([tf.float32], names=["x"])
    put_named, got = named.put({"x": 1.5}), named.get()
    with tf.Session() as session:
        for i in range(3):
            session.run(put, {fed: [i, i]})
        assert session.run(size) == 3
        values = session.run([a, b])
        assert values[0].tolist() == [0, 0] and values[1] == 7 and a.shape.as_list() == [2]
        session.run(area.clear())
        assert session.run(size) == 0
        session.run(put_named)
        assert session.run(got)["x"] == 1.5
    with pytest.raises(ValueError, match="dictionary"):
        named.put([1.0])


def test_cluster_resolvers(monkeypatch):
    cluster = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}}))
    resolver = tf.contrib.cluster_resolver.TFConfigClusterResolver()
    assert resolver.cluster_spec().as_dict() == cluster and resolver.master() == "grpc://b:2" and resolver.task_id == 1
    assert resolver.master("ps", 0) == "grpc://c:3"
    simple = tf.contrib.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(cluster), master="here")
    assert simple.master() == "here" and simple.master("worker", 0) == "grpc://a:1"


def test_cells():
    inputs = tf.constant(X[:12].reshape(4, 3, 3))  # [time, batch, width]
    lengths = [4, 2, 3]
    fused = tf.contrib.rnn.LSTMBlockFusedCell(5)
    forward, state = fused(inputs, dtype=tf.float32, sequence_length=lengths)
    with tf.variable_scope("back"):
        backward, _ = tf.contrib.rnn.TimeReversedFusedRNN(tf.contrib.rnn.LSTMBlockFusedCell(5))(inputs, dtype=tf.float32,
                                                                                               sequence_length=lengths)
    assert sorted(v.op.name for v in tf.trainable_variables()) == [
        "back/lstm_fused_cell/bias", "back/lstm_fused_cell/kernel", "lstm_fused_cell/bias", "lstm_fused_cell/kernel"]
    nas, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.NASCell(4, num_proj=2, use_bias=True), inputs, dtype=tf.float32, time_major=True)
    shapes = {v.op.name: v.shape.as_list() for v in tf.trainable_variables("rnn")}
    assert shapes == {"rnn/nas_cell/recurrent_kernel": [2, 32], "rnn/nas_cell/kernel": [3, 32], "rnn/nas_cell/bias": [32],
                      "rnn/nas_cell/projection_weights": [4, 2]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        ahead, back, last, out = session.run([forward, backward, state, nas])
    assert ahead.shape == back.shape == (4, 3, 5) and out.shape == (4, 3, 2)
    assert not ahead[2:, 1].any() and not back[2:, 1].any() and ahead[1, 1].any()
    np.testing.assert_allclose(last.h, [ahead[3, 0], ahead[1, 1], ahead[2, 2]], rtol=1e-6)


def test_alignments_of_a_whole_run():
    memory = tf.constant(X[:10].reshape(2, 5, 3))
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(4), tf.contrib.seq2seq.BahdanauAttention(4, memory), attention_layer_size=4, alignment_history=True,
        output_attention=False)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(X[:8].reshape(2, 4, 3)), dtype=tf.float32)
    alignments = tf.transpose(state.alignment_history.stack(), [1, 2, 0])
    gradients = tf.gradients(tf.reduce_sum(outputs) + tf.reduce_sum(tf.square(alignments)), tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(alignments)
        assert all(np.isfinite(g).all() for g in session.run(gradients))
    assert values.shape == (2, 5, 4)
    np.testing.assert_allclose(values.sum(1), 1.0, rtol=1e-5)


def test_labels_with_an_axis_more():
    logits, labels = tf.constant(X[:4]), tf.one_hot([0, 1, 2, 0], 3)
    with tf.Session() as session:
        a, b = session.run([tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=x) for x in (labels, [labels])])
    np.testing.assert_array_equal(a, b)


def test_linear_operators():
    matrix = np.float32([[2.0, 9.0], [1.0, 4.0]])
    kinds = {tf.linalg.LinearOperatorLowerTriangular(matrix): np.tril(matrix), tf.linalg.LinearOperatorFullMatrix(matrix): matrix,
             tf.linalg.LinearOperatorDiag([2.0, 3.0]): np.diag([2.0, 3.0]), tf.linalg.LinearOperatorIdentity(2): np.eye(2),
             tf.linalg.LinearOperatorScaledIdentity(2, 3.0): 3 * np.eye(2)}
    right = np.float32([[1.0], [2.0]])
    with tf.Session() as session:
        for operator, dense in kinds.items():
            values = session.run([operator.to_dense(), operator.matmul(right), operator.solve(right), operator.determinant(),
                                  operator.log_abs_determinant(), operator.trace(), operator.matvec([1.0, 2.0])])
            expected = [dense, dense @ right, np.linalg.solve(dense, right), np.linalg.det(dense),
                        np.log(abs(np.linalg.det(dense))), np.trace(dense), dense @ right[:, 0]]
            for got, wanted in zip(values, expected):
                np.testing.assert_allclose(got, wanted, rtol=1e-5, err_msg=operator.name)
