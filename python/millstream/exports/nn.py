# SPDX-License-Identifier: Apache-2.0
"""tf.nn, tf.layers."""

_CELLS = """BasicRNNCell GRUCell BasicLSTMCell LSTMCell MultiRNNCell DropoutWrapper ResidualWrapper DeviceWrapper
    LSTMStateTuple
    RNNCell"""
_CONTRIB_CELLS = _CELLS + " LayerRNNCell"


def _in(space, names):
    return " ".join(f"{space}.{n.partition('=')[0]}={n.partition('=')[2] or n}" for n in names.split())


EXPORTS = {
    "millstream.gen_ops": _in("nn", "relu elu selu softplus softsign l2_loss"),
    "millstream.ops.nn.nn_ops": _in("nn", """
        relu6 leaky_relu crelu swish silu=swish gelu softmax log_softmax sigmoid_cross_entropy_with_logits
        weighted_cross_entropy_with_logits softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2
        sparse_softmax_cross_entropy_with_logits dropout bias_add xw_plus_b relu_layer l2_normalize zero_fraction top_k
        in_top_k
        log_poisson_loss""") + " math.softmax=softmax math.log_softmax=log_softmax math.l2_normalize=l2_normalize "
                               "linalg.l2_normalize=l2_normalize math.zero_fraction=zero_fraction math.in_top_k=in_top_k "
                               "math.top_k=top_k",
    "millstream.ops.nn.nn_norm": _in("nn", """
        moments weighted_moments sufficient_statistics normalize_moments batch_normalization fused_batch_norm
        batch_norm_with_global_normalization local_response_normalization lrn=local_response_normalization"""),
    "millstream.ops.nn.nn_conv": _in("nn", """
        conv1d conv2d conv3d conv2d_transpose conv3d_transpose conv2d_backprop_input conv2d_backprop_filter atrous_conv2d
        depthwise_conv2d depthwise_conv2d_native separable_conv2d convolution max_pool max_pool1d max_pool2d
        max_pool3d
        avg_pool avg_pool1d avg_pool2d=avg_pool avg_pool3d max_pool_with_argmax pool"""),
    "millstream.ops.nn.embedding_ops": _in("nn", "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse") + """
        contrib.layers.safe_embedding_lookup_sparse=safe_embedding_lookup_sparse""",
    "millstream.ops.nn.sampling_ops": _in("nn", """
        nce_loss sampled_softmax_loss uniform_candidate_sampler log_uniform_candidate_sampler
        learned_unigram_candidate_sampler fixed_unigram_candidate_sampler all_candidate_sampler compute_accidental_hits""")
        + """
        random.uniform_candidate_sampler=uniform_candidate_sampler
        random.log_uniform_candidate_sampler=log_uniform_candidate_sampler""",
    "millstream.ops.rnn.rnn": _in("nn", """
        dynamic_rnn static_rnn rnn=static_rnn bidirectional_dynamic_rnn static_bidirectional_rnn
        bidirectional_rnn=static_bidirectional_rnn raw_rnn static_state_saving_rnn""") + " " + _in("contrib.rnn", """
        static_rnn static_bidirectional_rnn static_state_saving_rnn"""),
    "millstream.ops.rnn.rnn_cell": _in("nn.rnn_cell", _CELLS) + " " + _in("contrib.rnn", _CONTRIB_CELLS),
    "millstream.ops.layers.base": "layers.Layer layers.InputSpec",
    "millstream.ops.layers.core": _in("layers", "Dense dense Dropout dropout Flatten flatten"),
    "millstream.ops.layers.conv": _in("layers", """
        Conv1D Conv2D Conv3D Conv2DTranspose Conv3DTranspose SeparableConv1D SeparableConv2D conv1d conv2d conv3d conv2d_transpose
        conv3d_transpose separable_conv1d separable_conv2d"""),
    "millstream.ops.layers.pool": _in("layers", """
        MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D max_pooling1d max_pooling2d
        max_pooling3d average_pooling1d average_pooling2d average_pooling3d"""),
    "millstream.ops.layers.norm": _in("layers", "BatchNormalization batch_normalization"),
}
EXPORTS["millstream.ops.losses.losses"] = _in("losses", """
    Reduction absolute_difference add_loss compute_weighted_loss cosine_distance get_losses get_regularization_loss
    get_regularization_losses get_total_loss hinge_loss huber_loss log_loss mean_pairwise_squared_error mean_squared_error
    sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy""")
EXPORTS["millstream.ops.metrics.metrics"] = _in("metrics", """
    accuracy mean mean_tensor mean_absolute_error mean_squared_error root_mean_squared_error mean_relative_error
    mean_cosine_distance percentage_below true_positives false_positives true_negatives false_negatives precision recall
    mean_iou
    mean_per_class_accuracy""")
EXPORTS["millstream.ops.metrics.thresholds"] = _in("metrics", """
    auc precision_at_thresholds recall_at_thresholds true_positives_at_thresholds false_positives_at_thresholds
    true_negatives_at_thresholds false_negatives_at_thresholds sensitivity_at_specificity specificity_at_sensitivity""")
EXPORTS["millstream.ops.metrics.at_k"] = _in("metrics", """
    recall_at_k recall_at_top_k precision_at_k precision_at_top_k sparse_precision_at_k=precision_at_k average_precision_at_k
    sparse_average_precision_at_k=average_precision_at_k""")
EXPORTS["millstream.ops.nn.sampling_ops"] += " " + _in("random", """
    all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler""")
EXPORTS["millstream.ops.nn.nn_conv"] += " nn.dilation2d nn.erosion2d nn.atrous_conv2d_transpose"
EXPORTS["millstream.ops.nn.nn_conv"] += " nn.max_pool_v2=max_pool nn.avg_pool_v2=avg_pool nn.conv1d_transpose=conv1d_transpose"
