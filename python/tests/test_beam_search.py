# SPDX-License-Identifier: Apache-2.0
"""Beam search against all sequences; attention and buckets of legacy_seq2seq."""
import itertools

import numpy as np
import pytest

import millstream as tf

WORDS, END, STEPS = 4, 3, 3
rng = np.random.RandomState(2)
NEXT = np.log(rng.dirichlet(np.ones(WORDS), size=[2, WORDS])).astype(np.float32)  # [row of the batch, last word, next word]


class Table(tf.nn.rnn_cell.RNNCell):
    """The logits of the next word, from a table; its state says which row of the batch it is."""

    state_size = 1
    output_size = WORDS

    def call(self, inputs, state):
        row, last = tf.cast(state[:, 0], tf.int32), tf.argmax(inputs, 1, output_type=tf.int32)
        return tf.gather_nd(tf.constant(NEXT), tf.stack([row, last], 1)), state


def decode(width, **kwargs):
    state = tf.contrib.seq2seq.tile_batch(tf.constant([[0.0], [1.0]]), width)
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(Table(), tf.eye(WORDS), tf.constant([0, 1]), END, state, width, **kwargs)
    outputs, final, lengths = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=STEPS)
    with tf.Session() as session:
        return session.run([outputs, final, lengths])


def best(row, first, width, penalty=0.0):
    """The likeliest sequences by trying all."""
    found = {}
    for words in itertools.product(range(WORDS), repeat=STEPS):
        total, last, kept = 0.0, first, []
        for word in words:
            total, last = total + NEXT[row, last, word], word
            kept.append(word)
            if word == END:
                break
        length = len(kept) - (kept[-1] == END)
        found[tuple(kept + [END] * (STEPS - len(kept)))] = total / ((5.0 + length) / 6.0) ** penalty if penalty else total
    return sorted(found.items(), key=lambda item: -item[1])[:width]


def test_finds_the_likeliest_sequences():
    outputs, final, lengths = decode(12)
    assert outputs.predicted_ids.shape == (2, STEPS, 12) and lengths.shape == (2, 12)
    for row, first in ((0, 0), (1, 1)):
        expected = best(row, first, 5)
        got = outputs.predicted_ids[row].T[:5]
        assert [tuple(g) for g in got] == [words for words, _ in expected]
        np.testing.assert_allclose(final.log_probs[row][:5], [p for _, p in expected], rtol=1e-5)


def test_a_beam_of_one_is_greedy():
    outputs, _, _ = decode(1)
    for row, last in ((0, 0), (1, 1)):
        for word in outputs.predicted_ids[row, :, 0]:
            expected = END if last == END else NEXT[row, last].argmax()
            assert word == expected
            last = word


def test_length_penalty():
    plain, _, _ = decode(6)
    longer, _, _ = decode(6, length_penalty_weight=2.0)
    count = lambda ids: (ids != END).sum()
    assert count(longer.predicted_ids[:, :, 0]) >= count(plain.predicted_ids[:, :, 0])
    scores = longer.beam_search_decoder_output.scores
    assert scores.shape == (2, STEPS, 6) and (np.diff(scores[:, -1]) <= 1e-6).all()


def test_gather_tree():
    ids = np.int32([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]])
    parents = np.int32([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]])
    with tf.Session() as session:
        out = session.run(tf.contrib.seq2seq.gather_tree(ids, parents, [3], 10))
        ended = session.run(tf.contrib.seq2seq.gather_tree(ids, parents, [3], 6))
    assert out[:, 0].T.tolist() == [[2, 6, 7, 10], [2, 5, 8, 10], [2, 6, 9, 10]]
    assert ended[:, 0].T.tolist() == [[2, 6, 6, 6], [2, 5, 8, 6], [2, 6, 6, 6]]


def test_with_attention():
    memory = tf.constant(rng.randn(2, 5, 6).astype(np.float32))
    cell = tf.contrib.seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.LSTMCell(6), tf.contrib.seq2seq.BahdanauAttention(6, tf.contrib.seq2seq.tile_batch(memory, 3)), attention_layer_size=6)
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(
        cell, tf.constant(rng.randn(7, 4).astype(np.float32)), tf.fill([2], 1), 2, cell.zero_state(6, tf.float32), 3,
        output_layer=tf.layers.Dense(7, use_bias=False))
    outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=4)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(outputs.predicted_ids).shape == (2, 4, 3)
    with pytest.raises(ValueError, match="start_tokens must be a vector"):
        tf.contrib.seq2seq.BeamSearchDecoder(cell, tf.zeros([7, 4]), 1, 2, cell.zero_state(6, tf.float32), 3)


@pytest.mark.parametrize("feed", [False, True, "tensor"])
def test_attention_with_buckets(feed):
    legacy = tf.contrib.legacy_seq2seq
    inputs = [tf.constant([1, 2]) for _ in range(4)]
    weights = [tf.ones([2]) for _ in range(4)]
    previous = tf.placeholder_with_default(True, []) if feed == "tensor" else feed

    def seq2seq(encoder, decoder):
        return legacy.embedding_attention_seq2seq(encoder, decoder, tf.nn.rnn_cell.GRUCell(5), 8, 9, 3, feed_previous=previous)
    outputs, losses = legacy.model_with_buckets(inputs, inputs, inputs, weights, [(2, 2), (4, 4)], seq2seq)
    names = sorted(v.op.name for v in tf.trainable_variables())
    assert "embedding_attention_seq2seq/embedding_attention_decoder/attention_decoder/AttnW_0" in names
    assert "embedding_attention_seq2seq/embedding_attention_decoder/attention_decoder/Attention_0/kernel" in names
    assert "embedding_attention_seq2seq/embedding_attention_decoder/attention_decoder/AttnOutputProjection/bias" in names
    assert [len(o) for o in outputs] == [2, 4]
    train = tf.train.GradientDescentOptimizer(0.5).minimize(losses[1])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(losses)
        for _ in range(10):
            session.run(train)
        assert session.run(losses)[1] < first[1]


class Countdown(tf.nn.rnn_cell.RNNCell):
    """Says END when its state, a number of steps, has come down to 0; until then, word 1."""

    state_size = 1
    output_size = WORDS

    def call(self, inputs, state):
        word = tf.where(state[:, 0] <= 0, tf.fill(tf.shape(state)[:1], END), tf.fill(tf.shape(state)[:1], 1))
        return tf.one_hot(word, WORDS, on_value=10.0, off_value=0.0), state - 1


def _greedy(steps, **kwargs):
    helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(tf.eye(WORDS), tf.zeros([len(steps)], tf.int32), END)
    decoder = tf.contrib.seq2seq.BasicDecoder(Countdown(), helper, tf.constant([[float(s)] for s in steps]))
    return tf.contrib.seq2seq.dynamic_decode(decoder, **kwargs)


@pytest.mark.parametrize("limit", [20, None, "fed"])
@pytest.mark.parametrize("impute", [False, True])
def test_decoding_stops_when_all_sequences_have_ended(limit, impute):
    limit = tf.placeholder_with_default(20, []) if limit == "fed" else limit
    outputs, state, lengths = _greedy([1, 3], maximum_iterations=limit, impute_finished=impute)
    with tf.Session() as session:
        ids, left, lengths = session.run([outputs.sample_id, state, lengths])
    assert ids.shape == (2, 4) and list(lengths) == [2, 4]
    assert list(ids[1]) == [1, 1, 1, END]
    assert left[1, 0] == 3 - 4, "steps that were made"


@pytest.mark.parametrize("limit, length", [(3, 3), (1, 1), (0, 0)])
def test_decoding_stops_at_the_limit(limit, length):
    outputs, _, lengths = _greedy([9, 1], maximum_iterations=limit)
    with tf.Session() as session:
        ids, lengths = session.run([outputs.sample_id, lengths])
    assert ids.shape == (2, length) and list(lengths) == [length, min(length, 2)]


def test_limits_are_scalars():
    with pytest.raises(ValueError, match="maximum_iterations must be a scalar"):
        _greedy([1], maximum_iterations=tf.constant([3]))


@pytest.mark.parametrize("limit", [20, None])
def test_beams_stop_when_all_have_ended(limit):
    state = tf.contrib.seq2seq.tile_batch(tf.constant([[1.0], [2.0]]), 1)
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(Countdown(), tf.eye(WORDS), tf.constant([0, 0]), END, state, 1)
    outputs, _, lengths = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=limit)
    with tf.Session() as session:
        ids, lengths = session.run([outputs.predicted_ids, lengths])
    assert ids[:, :, 0].tolist() == [[1, END, END], [1, 1, END]] and lengths.tolist() == [[2], [3]]


@pytest.mark.parametrize("steps", [1, 4])
def test_training_helpers_end_with_their_inputs(steps):
    helper = tf.contrib.seq2seq.TrainingHelper(tf.zeros([2, steps, WORDS]), [1, steps])
    decoder = tf.contrib.seq2seq.BasicDecoder(Countdown(), helper, tf.zeros([2, 1]))
    outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=10)
    with tf.Session() as session:
        assert session.run(outputs.rnn_output).shape == (2, steps, WORDS)


class Recording(Table):
    """Keeps in its state what each step was asked: the last words of all beams, by time."""

    @property
    def state_size(self):
        return (1, tf.TensorShape([]), ())

    def call(self, inputs, state):
        row, time, seen = state
        last = tf.argmax(inputs, 1, output_type=tf.int32)
        logits, row = super().call(inputs, row)
        return logits, (row, time + 1, seen.write(time, tf.stack([last, last * 10], 1)))


def _recorded(reorder, width=3):
    rows = tf.contrib.seq2seq.tile_batch(tf.constant([[0.0], [1.0]]), width)
    state = (rows, tf.constant(0), tf.TensorArray(tf.int32, 0, dynamic_size=True))
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(Recording(), tf.eye(WORDS), tf.constant([0, 1]), END, state, width,
                                                   reorder_tensor_arrays=reorder)
    outputs, final, _ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=STEPS)
    seen = final.cell_state[2]
    assert isinstance(seen, tf.TensorArray) != reorder
    with tf.Session() as session:
        parents, seen, lengths = session.run([outputs.beam_search_decoder_output.parent_ids, seen if reorder else seen.stack(),
                                              final.lengths])
    return parents, seen.reshape(STEPS, 2, width, 2), lengths


def test_arrays_in_states_follow_their_beams():
    """As TensorFlow's do: each step's entry is that of the place which the sequence has after the step."""
    parents, written, lengths = _recorded(False)
    _, ordered, _ = _recorded(True)
    moved = False
    for row, beam in itertools.product(range(2), range(3)):
        place = beam
        for time in reversed(range(int(lengths[row].max()))):
            expected = place if time < lengths[row, beam] else beam
            assert ordered[time, row, beam].tolist() == written[time, row, expected].tolist()
            moved = moved or expected != beam
            place = parents[row, time, place]
    assert moved, "beams that change places"
