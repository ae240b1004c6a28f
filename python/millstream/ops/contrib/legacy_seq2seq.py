# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.legacy_seq2seq: decoders over lists of tensors, losses over them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.contrib import rnn as contrib_rnn
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import embedding_ops, nn_ops
from millstream.ops.rnn import rnn
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike


def _argmax_and_embed(embedding, output_projection=None, update_embedding=True):
    def loop(previous, _):
        if output_projection is not None:
            previous = nn_ops.xw_plus_b(previous, output_projection[0], output_projection[1])
        symbol = math_ops.argmax(previous, 1)
        embedded = embedding_ops.embedding_lookup(embedding, symbol)
        if not update_embedding:
            from millstream import gen_ops
            embedded = gen_ops.stop_gradient(embedded)
        return embedded
    return loop


def rnn_decoder(decoder_inputs: Any, initial_state: Any, cell: Any, loop_function: Any = None, scope: Any = None) -> Any:
    """The cell over a list of inputs; `loop_function` makes the next input of the last output."""
    with vs.variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for i, x in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with vs.variable_scope("loop_function", reuse=True):
                    x = loop_function(previous, i)
            if i > 0:
                vs.get_variable_scope().reuse_variables()
            output, state = cell(x, state)
            outputs.append(output)
            if loop_function is not None:
                previous = output
    return outputs, state


def basic_rnn_seq2seq(encoder_inputs: Any, decoder_inputs: Any, cell: Any, dtype: DTypeLike = dtypes.float32,
                      scope: Any = None) -> Any:
    import copy
    with vs.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = rnn.static_rnn(copy.copy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(encoder_inputs: Any, decoder_inputs: Any, cell: Any, loop_function: Any = None,
                     dtype: DTypeLike = dtypes.float32, scope: Any = None) -> Any:
    with vs.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = rnn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        vs.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def embedding_rnn_decoder(decoder_inputs: Any, initial_state: Any, cell: Any, num_symbols: Any, embedding_size: Any,
                          output_projection: Any = None, feed_previous: bool = False,
                          update_embedding_for_previous: bool = True, scope: Any = None) -> Any:
    with vs.variable_scope(scope or "embedding_rnn_decoder"):
        embedding = vs.get_variable("embedding", [num_symbols, embedding_size])
        loop = _argmax_and_embed(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        inputs = [embedding_ops.embedding_lookup(embedding, i) for i in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, loop_function=loop)


def embedding_rnn_seq2seq(encoder_inputs: Any, decoder_inputs: Any, cell: Any, num_encoder_symbols: Any,
                          num_decoder_symbols: Any, embedding_size: Any, output_projection: Any = None,
                          feed_previous: bool = False, dtype: Optional[DTypeLike] = None, scope: Any = None) -> Any:
    """An encoder and a decoder over ids; `feed_previous` must be a Python bool."""
    import copy
    if not isinstance(feed_previous, bool):
        raise NotImplementedError("embedding_rnn_seq2seq with a tensor as feed_previous")
    with vs.variable_scope(scope or "embedding_rnn_seq2seq") as scope:
        dtype = dtype or scope.dtype
        encoder = contrib_rnn.EmbeddingWrapper(copy.deepcopy(cell), embedding_classes=num_encoder_symbols,
                                               embedding_size=embedding_size)
        _, state = rnn.static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = contrib_rnn.OutputProjectionWrapper(cell, num_decoder_symbols)
        return embedding_rnn_decoder(decoder_inputs, state, cell, num_decoder_symbols, embedding_size,
                                     output_projection=output_projection, feed_previous=feed_previous)


def sequence_loss_by_example(logits: Any, targets: Any, weights: Any, average_across_timesteps: Any = True,
                             softmax_loss_function: Any = None, name: Optional[str] = None) -> Any:
    """Weighted cross entropies of lists of logits, targets and weights, added up over time."""
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError("Lengths of logits, weights, and targets must be the same "
                         f"{len(logits)}, {len(weights)}, {len(targets)}.")
    with ops.name_scope(name, "sequence_loss_by_example", logits + targets + weights):
        parts = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                loss = nn_ops.sparse_softmax_cross_entropy_with_logits(labels=array_ops.reshape(target, [-1]), logits=logit)
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            parts.append(loss * weight)
        total = math_ops.add_n(parts)
        if average_across_timesteps:
            total /= math_ops.add_n(weights) + 1e-12
    return total


def sequence_loss(logits: TensorLike, targets: Any, weights: Any, average_across_timesteps: bool = True,
                  average_across_batch: bool = True, softmax_loss_function: Any = None, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "sequence_loss", logits + targets + weights):
        cost = reduce_ops.reduce_sum(sequence_loss_by_example(logits, targets, weights, average_across_timesteps,
                                                              softmax_loss_function))
        if average_across_batch:
            return cost / math_ops.cast(array_ops.shape(targets[0])[0], cost.dtype)
        return cost
