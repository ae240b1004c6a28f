# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.seq2seq, rnn, crf, legacy_seq2seq, metrics, HParams."""
import itertools

import numpy as np
import pytest

import millstream as tf

RS = np.random.RandomState(0)


def _run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return sess.run(fetches, feeds)


@pytest.mark.parametrize("mechanism", ["LuongAttention", "BahdanauAttention"])
def test_attention_decoder_learns_and_decodes(mechanism):
    seq2seq, rnn = tf.contrib.seq2seq, tf.contrib.rnn
    tf.set_random_seed(1)
    words, units = 7, 8
    source, lengths = tf.constant(RS.randint(1, words, [3, 5])), tf.constant([5, 3, 4])
    inputs, targets, steps = RS.randint(1, words, [3, 4]), RS.randint(1, words, [3, 4]), tf.constant([4, 2, 3])
    table = tf.get_variable("table", [words, units])
    memory, state = tf.nn.dynamic_rnn(rnn.LSTMCell(units), tf.nn.embedding_lookup(table, source), lengths, dtype=tf.float32)
    attention = getattr(seq2seq, mechanism)(units, memory, memory_sequence_length=lengths)
    cell = seq2seq.AttentionWrapper(rnn.LSTMCell(units), attention, attention_layer_size=units, alignment_history=True)
    initial = cell.zero_state(3, tf.float32).clone(cell_state=state)
    layer = tf.layers.Dense(words, use_bias=False)

    def decode(helper, **kwargs):
        return seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, initial, layer), **kwargs)
    with tf.variable_scope("model"):
        outputs, final, made = decode(seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, inputs), steps), impute_finished=True)
    loss = seq2seq.sequence_loss(outputs.rnn_output, tf.constant(targets), tf.sequence_mask(steps, 4, dtype=tf.float32))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.variable_scope("model", reuse=True):
        greedy, _, ends = decode(seq2seq.GreedyEmbeddingHelper(table, tf.fill([3], 1), 2), maximum_iterations=6)
    alignments = final.alignment_history.stack()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first = sess.run(loss)
        for _ in range(40):
            sess.run(train)
        assert sess.run(loss) < first / 4
        logits, got, weights, ids, limits = sess.run([outputs.rnn_output, made, alignments, greedy.sample_id, ends])
    assert got.tolist() == [4, 2, 3] and not logits[1, 2:].any() and logits.shape == (3, 4, words)
    np.testing.assert_allclose(weights.sum(-1)[:2], 1, rtol=1e-5)
    assert not weights[:2, 1, 3:].any(), "beyond the length of the memory"
    assert ids.shape[1] == limits.max() <= 6


def test_crf_against_all_sequences():
    scores, transitions = RS.randn(2, 3, 3).astype(np.float32), RS.randn(3, 3).astype(np.float32)
    lengths, tags = np.array([3, 2]), np.array([[0, 2, 1], [1, 1, 0]])

    def score(b, path):
        return sum(scores[b, t, k] for t, k in enumerate(path)) + sum(transitions[a, c] for a, c in zip(path, path[1:]))
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(scores, tags, lengths, tf.constant(transitions))
    best, value = tf.contrib.crf.crf_decode(scores, tf.constant(transitions), lengths)
    likelihood, best, value = _run([likelihood, best, value])
    for b, n in enumerate(lengths):
        every = {p: score(b, p) for p in itertools.product(range(3), repeat=int(n))}
        norm = np.log(np.sum(np.exp(list(every.values()))))
        np.testing.assert_allclose(likelihood[b], every[tuple(tags[b][:n])] - norm, rtol=1e-4)
        top = max(every, key=every.get)
        assert tuple(best[b][:n]) == top and not best[b][n:].any()
        np.testing.assert_allclose(value[b], every[top], rtol=1e-5)
        path, found = tf.contrib.crf.viterbi_decode(scores[b][:n], transitions)
        assert tuple(path) == top and abs(found - every[top]) < 1e-4


@pytest.mark.parametrize("make", [
    lambda r: r.LayerNormBasicLSTMCell(4), lambda r: r.LSTMBlockCell(4, use_peephole=True, cell_clip=1.0), lambda r: r.GRUBlockCell(4),
    lambda r: r.UGRNNCell(4), lambda r: r.OutputProjectionWrapper(r.BasicLSTMCell(3), 4),
    lambda r: r.InputProjectionWrapper(r.GRUCell(4), 6), lambda r: r.AttentionCellWrapper(r.GRUCell(4), 3),
    lambda r: r.HighwayWrapper(r.GRUCell(4))])
def test_cells_run_and_have_gradients(make):
    cell = make(tf.contrib.rnn)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(RS.randn(2, 5, 4), tf.float32), sequence_length=[5, 2], dtype=tf.float32)
    grads = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())
    assert all(g is not None for g in grads)
    out, _ = _run([outputs, grads])
    assert out.shape == (2, 5, 4) and np.isfinite(out).all() and not out[1, 2:].any()


def test_block_cell_is_the_basic_one_with_other_gate_order():
    x = tf.constant(RS.randn(2, 3), tf.float32)
    with tf.variable_scope("a", initializer=tf.constant_initializer(0.1)):
        one, _ = tf.contrib.rnn.BasicLSTMCell(4)(x, tf.contrib.rnn.BasicLSTMCell(4).zero_state(2, tf.float32))
    with tf.variable_scope("b", initializer=tf.constant_initializer(0.1)):
        cell = tf.contrib.rnn.LSTMBlockCell(4)
        two, _ = cell(x, cell.zero_state(2, tf.float32))
    got = _run([one, two])
    np.testing.assert_allclose(got[0], got[1], rtol=1e-6)


def test_stack_of_bidirectional():
    rnn = tf.contrib.rnn
    out, fw, bw = rnn.stack_bidirectional_dynamic_rnn([rnn.GRUCell(3), rnn.GRUCell(2)], [rnn.GRUCell(3), rnn.GRUCell(2)],
                                                      tf.constant(RS.randn(2, 4, 5), tf.float32), dtype=tf.float32)
    assert _run(out).shape == (2, 4, 4) and len(fw) == len(bw) == 2
    with pytest.raises(ValueError):
        rnn.stack_bidirectional_dynamic_rnn([], [], tf.zeros([1, 1, 1]))


def test_legacy_losses_and_decoders():
    legacy = tf.contrib.legacy_seq2seq
    logits, targets, weights = [tf.zeros([2, 4])] * 3, [tf.constant([1, 2])] * 3, [tf.ones([2])] * 3
    got = _run([legacy.sequence_loss_by_example(logits, targets, weights), legacy.sequence_loss(logits, targets, weights)])
    np.testing.assert_allclose(got[0], np.log(4), rtol=1e-5)
    np.testing.assert_allclose(got[1], np.log(4), rtol=1e-5)
    steps = [tf.constant([1, 2])] * 3
    outputs, _ = legacy.embedding_rnn_seq2seq(steps, steps, tf.contrib.rnn.BasicLSTMCell(4), 5, 6, 3, feed_previous=True)
    assert [o.shape.as_list() for o in outputs] == [[2, 6]] * 3 and np.isfinite(_run(outputs[2])).all()


def test_streaming_metrics_take_predictions_first():
    value, update = tf.contrib.metrics.streaming_precision(predictions=tf.constant([1, 1, 0]), labels=tf.constant([1, 0, 1]))
    names_to_values, names_to_updates = tf.contrib.slim.metrics.aggregate_metric_map({"precision": (value, update)})
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run(list(names_to_updates.values()))
        assert sess.run(names_to_values) == {"precision": 0.5}


def test_hparams():
    hparams = tf.contrib.training.HParams(learning_rate=0.1, units=[64, 32], name="a", train=True, steps=3)
    hparams.parse("learning_rate=0.3,units=[1,2,3],train=false")
    assert (hparams.learning_rate, hparams.units, hparams.train) == (0.3, [1, 2, 3], False)
    hparams.parse("units[1]=7").override_from_dict({"steps": 5}).parse_json('{"name": "b"}')
    assert hparams.units == [1, 7, 3] and hparams.steps == 5 and hparams.name == "b" and "steps" in hparams
    assert hparams.values()["name"] == "b" and hparams.get("nosuch", 4) == 4 and '"steps": 5' in hparams.to_json()
    hparams.steps = 6
    hparams.add_hparam("extra", "x")
    assert hparams.steps == 6 and hparams.extra == "x"
    for bad in ("nosuch=1", "steps=abc", "steps=1,steps=2", "train=maybe"):
        with pytest.raises(ValueError):
            hparams.parse(bad)
    with pytest.raises(ValueError):
        hparams.add_hparam("steps", 1)


def test_instance_and_group_norm():
    x = RS.randn(2, 4, 4, 6).astype(np.float32)
    one, two = tf.contrib.layers.instance_norm(x), tf.contrib.layers.group_norm(x, groups=3)
    one, two = _run([one, two])
    np.testing.assert_allclose(one, (x - x.mean((1, 2), keepdims=True)) / x.std((1, 2), keepdims=True), atol=1e-4)
    g = x.reshape(2, 4, 4, 3, 2)
    np.testing.assert_allclose(two.reshape(g.shape), (g - g.mean((1, 2, 4), keepdims=True)) / g.std((1, 2, 4), keepdims=True),
                               atol=1e-4)


def test_vocabulary_processor(tmp_path):
    processor = tf.contrib.learn.preprocessing.VocabularyProcessor(3)
    rows = list(processor.fit_transform(["a cat's tail", "the cat", "a b c d"]))
    assert [r.tolist() for r in rows] == [[1, 2, 3], [4, 5, 0], [1, 6, 7]] and len(processor.vocabulary_) == 9
    processor.save(str(tmp_path / "vocabulary"))
    again = tf.contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocabulary"))
    assert [r.tolist() for r in again.transform(["the new cat"])] == [[4, 0, 5]]
    assert list(again.reverse([[1, 5, 0]])) == ["a cat <UNK>"]


def test_model_analyzer_and_inspection(tmp_path, capsys):
    from millstream.training import inspect_checkpoint
    v = tf.get_variable("v", [2, 3], initializer=tf.ones_initializer())
    assert tf.contrib.slim.model_analyzer.analyze_vars([v], print_info=True) == (6, 24)
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    inspect_checkpoint.print_tensors_in_checkpoint_file(path, "", all_tensors=False, all_tensor_names=True)
    inspect_checkpoint.print_tensors_in_checkpoint_file(path, "v", all_tensors=False)
    shown = capsys.readouterr().out
    assert "v:0 (float32 2x3) [6, bytes: 24]" in shown and "tensor: v (float32) [2, 3]" in shown and "[[1. 1. 1.]" in shown


def test_projector(tmp_path):
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "v:0", "words.tsv"
    embedding.sprite.single_image_dim.extend([28, 28])
    projector.visualize_embeddings(tf.summary.FileWriter(str(tmp_path)), config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "v:0"' in text and text.count("single_image_dim: 28") == 2


def test_transposed_convolution_has_the_shape_that_it_was_given():
    x = tf.placeholder(tf.float32, [None, 4, 4, 2])
    assert tf.nn.conv2d_transpose(x, tf.zeros([3, 3, 5, 2]), [8, 8, 8, 5], [1, 2, 2, 1]).shape.as_list() == [8, 8, 8, 5]
    rows = tf.shape(x)[0]
    assert tf.nn.conv2d_transpose(x, tf.zeros([3, 3, 5, 2]), [rows, 8, 8, 5], [1, 2, 2, 1]).shape.as_list() == [None, 8, 8, 5]


def test_old_module_paths_of_contrib():
    import subprocess
    import sys
    code = """
from tensorflow.contrib.framework.python.ops import arg_scope
from tensorflow.contrib.layers.python.layers import initializers
from tensorflow.contrib.rnn.python.ops import rnn_cell
from tensorflow.contrib.tensorboard.plugins import projector
from tensorflow.python.tools import inspect_checkpoint
print(callable(arg_scope), initializers.xavier_initializer.__name__, rnn_cell.LSTMCell.__name__, projector.ProjectorConfig.__name__)
"""
    result = subprocess.run([sys.executable, "-m", "millstream", "-c", code], capture_output=True, text=True, timeout=120)
    assert result.stdout.split() == ["True", "xavier_initializer", "LSTMCell", "ProjectorConfig"], result.stderr
