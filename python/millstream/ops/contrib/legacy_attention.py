# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.legacy_seq2seq with attention and with buckets: the translation tutorial's models."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.ops import nest
from millstream.ops.array import array_ops
from millstream.ops.contrib import rnn as contrib_rnn, legacy_seq2seq
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import embedding_ops, nn_conv, nn_ops
from millstream.ops.rnn import rnn
from millstream.ops.variables import variable_scope as vs
from millstream.ops.contrib.rnn import _linear

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike


class _Attention:
    """Heads over attention states [batch, length, size]."""

    def __init__(self, states, num_heads):
        self._length = states.shape.as_list()[1] or array_ops.shape(states)[1]
        self._size = states.shape.as_list()[2]
        self.hidden = array_ops.reshape(states, array_ops.stack([-1, self._length, 1, self._size]))
        self._features, self._vectors = [], []
        for a in range(num_heads):
            kernel = vs.get_variable(f"AttnW_{a}", [1, 1, self._size, self._size], dtype=states.dtype)
            self._features.append(nn_conv.conv2d(self.hidden, kernel, [1, 1, 1, 1], "SAME"))
            self._vectors.append(vs.get_variable(f"AttnV_{a}", [self._size], dtype=states.dtype))

    def __call__(self, query):
        query = array_ops.concat(nest.flatten(query), 1) if nest.is_nested(query) else query
        found = []
        for a, (features, vector) in enumerate(zip(self._features, self._vectors)):
            with vs.variable_scope(f"Attention_{a}"):
                y = array_ops.reshape(_linear(query, self._size, True), [-1, 1, 1, self._size])
                weights = nn_ops.softmax(reduce_ops.reduce_sum(vector * math_ops.tanh(features + y), [2, 3]))
                d = reduce_ops.reduce_sum(array_ops.reshape(weights, array_ops.stack([-1, self._length, 1, 1])) * self.hidden, [1, 2])
                found.append(array_ops.reshape(d, [-1, self._size]))
        return found

    def zeros(self, batch, dtype, num_heads):
        out = [array_ops.zeros(array_ops.stack([batch, self._size]), dtype=dtype) for _ in range(num_heads)]
        for a in out:
            a.set_shape([None, self._size])
        return out


def attention_decoder(decoder_inputs: Any, initial_state: Any, attention_states: Any, cell: Any, output_size: Any = None,
                      num_heads: Any = 1, loop_function: Any = None, dtype: Optional[DTypeLike] = None, scope: Any = None,
                      initial_state_attention: bool = False) -> Any:
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.shape.as_list()[2] is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    output_size = cell.output_size if output_size is None else output_size
    with vs.variable_scope(scope or "attention_decoder", dtype=dtype) as scope:
        attend = _Attention(attention_states, num_heads)
        state, outputs, previous = initial_state, [], None
        attns = attend(initial_state) if initial_state_attention else attend.zeros(array_ops.shape(decoder_inputs[0])[0],
                                                                                   scope.dtype, num_heads)
        for i, x in enumerate(decoder_inputs):
            if i > 0:
                vs.get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with vs.variable_scope("loop_function", reuse=True):
                    x = loop_function(previous, i)
            width = x.shape.as_list()[1]
            if width is None:
                raise ValueError(f"Could not infer input size from input: {x.name}")
            output, state = cell(_linear([x] + attns, width, True), state)
            if i == 0 and initial_state_attention:
                with vs.variable_scope(vs.get_variable_scope(), reuse=True):
                    attns = attend(state)
            else:
                attns = attend(state)
            with vs.variable_scope("AttnOutputProjection"):
                output = _linear([output] + attns, output_size, True)
            previous = output if loop_function is not None else None
            outputs.append(output)
    return outputs, state


def embedding_attention_decoder(decoder_inputs: Any, initial_state: Any, attention_states: Any, cell: Any, num_symbols: Any,
                                embedding_size: Any, num_heads: Any = 1, output_size: Any = None, output_projection: Any = None,
                                feed_previous: bool = False, update_embedding_for_previous: bool = True,
                                dtype: Optional[DTypeLike] = None, scope: Any = None,
                                initial_state_attention: bool = False) -> Any:
    output_size = cell.output_size if output_size is None else output_size
    if output_projection is not None:
        ops.convert_to_tensor(output_projection[1]).shape.assert_is_compatible_with([num_symbols])
    with vs.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = vs.get_variable("embedding", [num_symbols, embedding_size])
        loop = legacy_seq2seq._argmax_and_embed(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        inputs = [embedding_ops.embedding_lookup(embedding, i) for i in decoder_inputs]
        return attention_decoder(inputs, initial_state, attention_states, cell, output_size=output_size, num_heads=num_heads,
                                 loop_function=loop, initial_state_attention=initial_state_attention)


def _either(feed_previous, decode):
    """decode(True) or decode(False), as a tensor says; both with the same variables."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    structure = []

    def branch(value, reuse):
        with vs.variable_scope(vs.get_variable_scope(), reuse=reuse):
            outputs, state = decode(value)
            structure[:] = [len(outputs), state]
            return outputs + nest.flatten(state)
    flat = control_flow_ops.cond(feed_previous, lambda: branch(True, None), lambda: branch(False, True))
    count, state = structure
    return list(flat[:count]), nest.pack_sequence_as(state, list(flat[count:]))


def embedding_attention_seq2seq(encoder_inputs: Any, decoder_inputs: Any, cell: Any, num_encoder_symbols: Any,
                                num_decoder_symbols: Any, embedding_size: Any, num_heads: Any = 1,
                                output_projection: Any = None, feed_previous: bool = False, dtype: Optional[DTypeLike] = None,
                                scope: Any = None, initial_state_attention: bool = False) -> Any:
    """An encoder over ids and a decoder that looks at all of its outputs; `feed_previous` may be a tensor."""
    with vs.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        encoder = contrib_rnn.EmbeddingWrapper(copy.deepcopy(cell), embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        outputs, state = rnn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        attention = array_ops.concat([array_ops.reshape(o, [-1, 1, cell.output_size]) for o in outputs], 1)
        output_size = None
        if output_projection is None:
            cell, output_size = contrib_rnn.OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols
        return _either(feed_previous, lambda feed: embedding_attention_decoder(
            decoder_inputs, state, attention, cell, num_decoder_symbols, embedding_size, num_heads=num_heads, output_size=output_size,
            output_projection=output_projection, feed_previous=feed, update_embedding_for_previous=isinstance(feed_previous, bool),
            initial_state_attention=initial_state_attention))


def embedding_tied_rnn_seq2seq(encoder_inputs: Any, decoder_inputs: Any, cell: Any, num_symbols: Any, embedding_size: Any,
                               num_decoder_symbols: Any = None, output_projection: Any = None, feed_previous: bool = False,
                               dtype: Optional[DTypeLike] = None, scope: Any = None) -> Any:
    """One table and one cell for both sides."""
    with vs.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as scope:
        embedding = vs.get_variable("embedding", [num_symbols, embedding_size], dtype=scope.dtype)
        encoder, decoder = ([embedding_ops.embedding_lookup(embedding, x) for x in xs] for xs in (encoder_inputs, decoder_inputs))
        if output_projection is None:
            cell = contrib_rnn.OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decode(feed):
            loop = legacy_seq2seq._argmax_and_embed(embedding, output_projection) if feed else None
            return legacy_seq2seq.tied_rnn_seq2seq(encoder, decoder, cell, loop_function=loop, dtype=scope.dtype)
        return _either(feed_previous, decode)


def one2many_rnn_seq2seq(encoder_inputs: Any, decoder_inputs_dict: Any, enc_cell: Any, dec_cells_dict: Any,
                         num_encoder_symbols: Any, num_decoder_symbols_dict: Any, embedding_size: Any,
                         feed_previous: bool = False, dtype: Optional[DTypeLike] = None, scope: Any = None) -> Any:
    """One encoder, a decoder for each name."""
    outputs, states = {}, {}
    with vs.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as scope:
        encoder = contrib_rnn.EmbeddingWrapper(enc_cell, embedding_classes=num_encoder_symbols, embedding_size=embedding_size)
        _, state = rnn.static_rnn(encoder, encoder_inputs, dtype=scope.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with vs.variable_scope("one2many_decoder_" + str(name)):
                cell = contrib_rnn.OutputProjectionWrapper(dec_cells_dict[name], symbols)
                outputs[name], states[name] = _either(feed_previous, lambda feed, c=cell, i=inputs, n=symbols:
                                                      legacy_seq2seq.embedding_rnn_decoder(i, state, c, n, embedding_size,
                                                                                           feed_previous=feed))
    return outputs, states


def model_with_buckets(encoder_inputs: Any, decoder_inputs: Any, targets: Any, weights: Any, buckets: Any, seq2seq: Any,
                       softmax_loss_function: Any = None, per_example_loss: bool = False, name: Optional[str] = None) -> Any:
    """(outputs, losses) of seq2seq(encoder inputs, decoder inputs) for each pair of lengths, with the same variables."""
    for what, have, axis in (("encoder_inputs", encoder_inputs, 0), ("targets", targets, 1), ("weights", weights, 1)):
        if len(have) < buckets[-1][axis]:
            raise ValueError(f"Length of {what} ({len(have)}) must be at least that of last bucket ({buckets[-1][axis]}).")
    losses, outputs = [], []
    with ops.name_scope(name, "model_with_buckets", encoder_inputs + decoder_inputs + targets + weights):
        for j, (source, target) in enumerate(buckets):
            with vs.variable_scope(vs.get_variable_scope(), reuse=True if j > 0 else None):
                bucket_outputs, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(bucket_outputs)
                loss = legacy_seq2seq.sequence_loss_by_example if per_example_loss else legacy_seq2seq.sequence_loss
                losses.append(loss(bucket_outputs, targets[:target], weights[:target], softmax_loss_function=softmax_loss_function))
    return outputs, losses
