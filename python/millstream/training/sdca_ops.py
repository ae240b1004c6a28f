# SPDX-License-Identifier: Apache-2.0
"""Stochastic dual coordinate ascent for linear models."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops

if TYPE_CHECKING:
    from typing import Any, Optional


def sdca_fprint(input: Any, name: Optional[str] = None) -> Any:
    """Fingerprints of the names of examples, [n, 2]."""
    return gen_ops.sdca_fprint(input, name=name)


def sdca_optimizer(sparse_example_indices: Any, sparse_feature_indices: Any, sparse_feature_values: Any, dense_features: Any,
                   example_weights: Any, example_labels: Any, sparse_indices: Any, sparse_weights: Any, dense_weights: Any,
                   example_state_data: Any, loss_type: Any, l1: Any, l2: Any, num_loss_partitions: Any,
                   num_inner_iterations: Any, adaptative: bool = True, name: Optional[str] = None) -> Any:
    """What one pass over a mini-batch adds to the weights. As in TF1 the function samples adaptively unless told, the op does not."""
    return gen_ops.sdca_optimizer(sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features, example_weights,
                                  example_labels, sparse_indices, sparse_weights, dense_weights, example_state_data, loss_type=loss_type,
                                  l1=l1, l2=l2, num_loss_partitions=num_loss_partitions, num_inner_iterations=num_inner_iterations,
                                  adaptative=adaptative, name=name)


def sdca_shrink_l1(weights: Any, l1: Any, l2: Any, name: Optional[str] = None) -> Any:
    """Moves the variables `weights` towards zero by l1 / l2."""
    return gen_ops.sdca_shrink_l1(weights, l1=l1, l2=l2, name=name)
