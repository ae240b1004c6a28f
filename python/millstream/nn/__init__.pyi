# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.gen_ops import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter
from millstream.gen_ops import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter
from millstream.gen_ops import depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input
from millstream.gen_ops import depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input
from millstream.gen_ops import elu as elu
from millstream.gen_ops import l2_loss as l2_loss
from millstream.gen_ops import relu as relu
from millstream.gen_ops import selu as selu
from millstream.gen_ops import softplus as softplus
from millstream.gen_ops import softsign as softsign
from millstream.nn import rnn_cell as rnn_cell
from millstream.ops.array.index_ops import depth_to_space as depth_to_space
from millstream.ops.array.index_ops import space_to_batch as space_to_batch
from millstream.ops.array.index_ops import space_to_depth as space_to_depth
from millstream.ops.math.math_ops import log_sigmoid as log_sigmoid
from millstream.ops.math.math_ops import sigmoid as sigmoid
from millstream.ops.math.math_ops import tanh as tanh
from millstream.ops.math.quantize_ops import quantized_avg_pool as quantized_avg_pool
from millstream.ops.math.quantize_ops import quantized_conv2d as quantized_conv2d
from millstream.ops.math.quantize_ops import quantized_max_pool as quantized_max_pool
from millstream.ops.math.quantize_ops import quantized_relu_x as quantized_relu_x
from millstream.ops.math.special_ops import collapse_repeated as collapse_repeated
from millstream.ops.math.special_ops import fractional_avg_pool as fractional_avg_pool
from millstream.ops.math.special_ops import fractional_max_pool as fractional_max_pool
from millstream.ops.nn.ctc_v2 import compute_average_loss as compute_average_loss
from millstream.ops.nn.ctc_v2 import conv_transpose as conv_transpose
from millstream.ops.nn.ctc_v2 import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from millstream.ops.nn.ctc_v2 import ctc_loss_v2 as ctc_loss_v2
from millstream.ops.nn.ctc_v2 import ctc_unique_labels as ctc_unique_labels
from millstream.ops.nn.ctc_v2 import scale_regularization_loss as scale_regularization_loss
from millstream.ops.nn.embedding_ops import embedding_lookup as embedding_lookup
from millstream.ops.nn.embedding_ops import embedding_lookup_sparse as embedding_lookup_sparse
from millstream.ops.nn.embedding_ops import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from millstream.ops.nn.nn_conv import atrous_conv2d as atrous_conv2d
from millstream.ops.nn.nn_conv import atrous_conv2d_transpose as atrous_conv2d_transpose
from millstream.ops.nn.nn_conv import avg_pool as avg_pool
from millstream.ops.nn.nn_conv import avg_pool as avg_pool2d
from millstream.ops.nn.nn_conv import avg_pool as avg_pool_v2
from millstream.ops.nn.nn_conv import avg_pool1d as avg_pool1d
from millstream.ops.nn.nn_conv import avg_pool3d as avg_pool3d
from millstream.ops.nn.nn_conv import conv1d as conv1d
from millstream.ops.nn.nn_conv import conv1d_transpose as conv1d_transpose
from millstream.ops.nn.nn_conv import conv2d as conv2d
from millstream.ops.nn.nn_conv import conv2d_backprop_filter as conv2d_backprop_filter
from millstream.ops.nn.nn_conv import conv2d_backprop_input as conv2d_backprop_input
from millstream.ops.nn.nn_conv import conv2d_transpose as conv2d_transpose
from millstream.ops.nn.nn_conv import conv3d as conv3d
from millstream.ops.nn.nn_conv import conv3d_transpose as conv3d_transpose
from millstream.ops.nn.nn_conv import convolution as convolution
from millstream.ops.nn.nn_conv import depthwise_conv2d as depthwise_conv2d
from millstream.ops.nn.nn_conv import depthwise_conv2d_native as depthwise_conv2d_native
from millstream.ops.nn.nn_conv import dilation2d as dilation2d
from millstream.ops.nn.nn_conv import erosion2d as erosion2d
from millstream.ops.nn.nn_conv import max_pool as max_pool
from millstream.ops.nn.nn_conv import max_pool as max_pool_v2
from millstream.ops.nn.nn_conv import max_pool1d as max_pool1d
from millstream.ops.nn.nn_conv import max_pool2d as max_pool2d
from millstream.ops.nn.nn_conv import max_pool3d as max_pool3d
from millstream.ops.nn.nn_conv import max_pool_with_argmax as max_pool_with_argmax
from millstream.ops.nn.nn_conv import pool as pool
from millstream.ops.nn.nn_conv import separable_conv2d as separable_conv2d
from millstream.ops.nn.nn_norm import batch_norm_with_global_normalization as batch_norm_with_global_normalization
from millstream.ops.nn.nn_norm import batch_normalization as batch_normalization
from millstream.ops.nn.nn_norm import fused_batch_norm as fused_batch_norm
from millstream.ops.nn.nn_norm import local_response_normalization as local_response_normalization
from millstream.ops.nn.nn_norm import local_response_normalization as lrn
from millstream.ops.nn.nn_norm import moments as moments
from millstream.ops.nn.nn_norm import normalize_moments as normalize_moments
from millstream.ops.nn.nn_norm import sufficient_statistics as sufficient_statistics
from millstream.ops.nn.nn_norm import weighted_moments as weighted_moments
from millstream.ops.nn.nn_ops import bias_add as bias_add
from millstream.ops.nn.nn_ops import crelu as crelu
from millstream.ops.nn.nn_ops import dropout as dropout
from millstream.ops.nn.nn_ops import gelu as gelu
from millstream.ops.nn.nn_ops import in_top_k as in_top_k
from millstream.ops.nn.nn_ops import l2_normalize as l2_normalize
from millstream.ops.nn.nn_ops import leaky_relu as leaky_relu
from millstream.ops.nn.nn_ops import log_poisson_loss as log_poisson_loss
from millstream.ops.nn.nn_ops import log_softmax as log_softmax
from millstream.ops.nn.nn_ops import relu6 as relu6
from millstream.ops.nn.nn_ops import relu_layer as relu_layer
from millstream.ops.nn.nn_ops import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from millstream.ops.nn.nn_ops import softmax as softmax
from millstream.ops.nn.nn_ops import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from millstream.ops.nn.nn_ops import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from millstream.ops.nn.nn_ops import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from millstream.ops.nn.nn_ops import swish as silu
from millstream.ops.nn.nn_ops import swish as swish
from millstream.ops.nn.nn_ops import top_k as top_k
from millstream.ops.nn.nn_ops import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from millstream.ops.nn.nn_ops import xw_plus_b as xw_plus_b
from millstream.ops.nn.nn_ops import zero_fraction as zero_fraction
from millstream.ops.nn.sampling_ops import all_candidate_sampler as all_candidate_sampler
from millstream.ops.nn.sampling_ops import compute_accidental_hits as compute_accidental_hits
from millstream.ops.nn.sampling_ops import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from millstream.ops.nn.sampling_ops import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from millstream.ops.nn.sampling_ops import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from millstream.ops.nn.sampling_ops import nce_loss as nce_loss
from millstream.ops.nn.sampling_ops import sampled_softmax_loss as sampled_softmax_loss
from millstream.ops.nn.sampling_ops import uniform_candidate_sampler as uniform_candidate_sampler
from millstream.ops.plain_ops import ctc_beam_search_decoder as ctc_beam_search_decoder
from millstream.ops.plain_ops import ctc_greedy_decoder as ctc_greedy_decoder
from millstream.ops.plain_ops import ctc_loss as ctc_loss
from millstream.ops.rnn.rnn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from millstream.ops.rnn.rnn import dynamic_rnn as dynamic_rnn
from millstream.ops.rnn.rnn import raw_rnn as raw_rnn
from millstream.ops.rnn.rnn import static_bidirectional_rnn as bidirectional_rnn
from millstream.ops.rnn.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from millstream.ops.rnn.rnn import static_rnn as rnn
from millstream.ops.rnn.rnn import static_rnn as static_rnn
from millstream.ops.rnn.rnn import static_state_saving_rnn as static_state_saving_rnn

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "bidirectional_rnn",
    "collapse_repeated",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fused_batch_norm",
    "gelu",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_sigmoid",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "quantized_avg_pool",
    "quantized_conv2d",
    "quantized_max_pool",
    "quantized_relu_x",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
]
