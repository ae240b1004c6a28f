# SPDX-License-Identifier: Apache-2.0
"""Shapes of labels and predictions that differ by an axis of size 1."""
from millstream import gen_ops
from millstream.framework import ops


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """Removes the last axis of the one that has an axis more than expected, if its size is 1."""
    with ops.name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        from millstream.ops.array import array_ops
        from millstream.ops.flow import control_flow_ops
        predictions, labels = ops.convert_to_tensor(predictions), ops.convert_to_tensor(labels)
        p_rank, l_rank = predictions.shape.rank, labels.shape.rank
        if p_rank is not None and l_rank is not None:
            diff = p_rank - l_rank
            if diff == expected_rank_diff + 1 and predictions.shape[-1].is_compatible_with(1):
                predictions = array_ops.squeeze(predictions, [-1])
            elif diff == expected_rank_diff - 1 and labels.shape[-1].is_compatible_with(1):
                labels = array_ops.squeeze(labels, [-1])
            return labels, predictions
        diff = gen_ops.rank(predictions) - gen_ops.rank(labels)
        if p_rank is None or predictions.shape.dims[-1:] and predictions.shape.dims[-1].is_compatible_with(1):
            kept = predictions
            predictions = control_flow_ops.cond(gen_ops.equal(expected_rank_diff + 1, diff),
                                                lambda: array_ops.squeeze(kept, [-1]), lambda: gen_ops.identity(kept))
        if l_rank is None or labels.shape.dims[-1:] and labels.shape.dims[-1].is_compatible_with(1):
            kept_labels = labels
            labels = control_flow_ops.cond(gen_ops.equal(expected_rank_diff - 1, diff),
                                           lambda: array_ops.squeeze(kept_labels, [-1]),
                                           lambda: gen_ops.identity(kept_labels))
        return labels, predictions
