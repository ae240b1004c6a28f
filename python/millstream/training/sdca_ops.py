# SPDX-License-Identifier: Apache-2.0
"""Stochastic dual coordinate ascent for linear models."""
from millstream import gen_ops


def sdca_fprint(input, name=None):
    """Fingerprints of the names of examples, [n, 2]."""
    return gen_ops.sdca_fprint(input, name=name)


def sdca_optimizer(sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features, example_weights,
                   example_labels, sparse_indices, sparse_weights, dense_weights, example_state_data, loss_type, l1, l2,
                   num_loss_partitions, num_inner_iterations, adaptative=True, name=None):
    """What one pass over a mini-batch adds to the weights. As in TF1 the function samples adaptively unless told, the op does not."""
    return gen_ops.sdca_optimizer(sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features, example_weights,
                                  example_labels, sparse_indices, sparse_weights, dense_weights, example_state_data, loss_type=loss_type,
                                  l1=l1, l2=l2, num_loss_partitions=num_loss_partitions, num_inner_iterations=num_inner_iterations,
                                  adaptative=adaptative, name=name)


def sdca_shrink_l1(weights, l1, l2, name=None):
    """Moves the variables `weights` towards zero by l1 / l2."""
    return gen_ops.sdca_shrink_l1(weights, l1=l1, l2=l2, name=name)
