# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices, special functions, boxes of images, quantization."""


def _in(spaces, names):
    return " ".join(f"{space}{n.partition('=')[0]}={n.partition('=')[2] or n}" for space in spaces for n in names.split())


_FAKE_QUANT = """
    fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
    fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
    fake_quant_with_min_max_vars_per_channel_gradient"""

EXPORTS = {
    "millstream.ops.linalg.matrix_functions": _in(["linalg."], """
        expm logm sqrtm matrix_rank pinv lu_solve lu_matrix_inverse lu_reconstruct tridiagonal_solve tridiagonal_matmul""") +
        " matrix_square_root=sqrtm",
    "millstream.ops.image.image_boxes": _in(["image."], """
        sample_distorted_bounding_box extract_glimpse non_max_suppression_with_scores non_max_suppression_padded
        non_max_suppression_overlaps combined_non_max_suppression decode_and_crop_jpeg adjust_jpeg_quality random_jpeg_quality""") + " " + _in(
        ["contrib.image."], """transform rotate translate angles_to_projective_transforms translations_to_projective_transforms
        compose_transforms""") + " io.decode_and_crop_jpeg=decode_and_crop_jpeg",
    "millstream.ops.ragged.public_names": "RaggedTensor ragged.RaggedTensorValue " + _in(["ragged."], """
        boolean_mask constant constant_value map_flat_values placeholder range=ragged_range row_splits_to_segment_ids segment_ids_to_row_splits
        stack is_ragged"""),
    "millstream.ops.ragged.ragged_strings": _in(["strings."], """
        bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode unicode_split unicode_split_with_offsets"""),
    "millstream.ops.math.special_ops": _in(["math.", "math.special."], "bessel_i0 bessel_i0e bessel_i1 bessel_i1e") + " " + _in(
        ["math.special."], """bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos
        fresnel_sin spence""") + " math.erfcinv=erfcinv math.sobol_sample=sobol_sample " + _in(["random."], """
        stateless_binomial stateless_categorical stateless_gamma stateless_multinomial stateless_poisson""") +
        " " + _in(["nn."], "fractional_max_pool fractional_avg_pool collapse_repeated") + """
        fingerprint extract_volume_patches decode_compressed io.decode_compressed=decode_compressed
        tensor_scatter_nd_max tensor_scatter_nd_min""",
    "millstream.ops.math.quantize_ops": _in(["", "quantization."], _FAKE_QUANT) + """
        quantize quantize_v2 dequantize quantization.quantize=quantize quantization.dequantize=dequantize
        quantization.quantize_and_dequantize=quantize_and_dequantize quantize_and_dequantize
        quantization.quantize_and_dequantize_v2=quantize_and_dequantize quantized_concat quantization.quantized_concat=quantized_concat """ +
        _in(["nn."], "quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x"),
    "millstream.framework.tape": "GradientTape contrib.eager.GradientTape",
    "millstream.framework.def_function": "function contrib.eager.defun=function",
    "millstream.ops.variables.module": "Module",
    "millstream.ops.flow.critical_section": "CriticalSection contrib.framework.CriticalSection",
    "millstream.ops.lookup.dense_hash_table": """
        lookup.experimental.DenseHashTable contrib.lookup.MutableDenseHashTable""",
    "millstream.ops.debugging.shape_checks": "debugging.assert_shapes",
    "millstream.framework.tensor_shape": "compat.dimension_value compat.dimension_at_index",
    "millstream.platform.device_config": _in(["config.", "config.experimental."], """
        list_physical_devices list_logical_devices get_visible_devices set_visible_devices""") + " " + _in(["config."], """
        PhysicalDevice LogicalDevice LogicalDeviceConfiguration get_logical_device_configuration set_logical_device_configuration
        get_soft_device_placement set_soft_device_placement functions_run_eagerly run_functions_eagerly
        threading.get_intra_op_parallelism_threads=get_intra_op_parallelism_threads
        threading.set_intra_op_parallelism_threads=set_intra_op_parallelism_threads
        threading.get_inter_op_parallelism_threads=get_inter_op_parallelism_threads
        threading.set_inter_op_parallelism_threads=set_inter_op_parallelism_threads
        optimizer.get_jit=get_jit optimizer.set_jit=set_jit optimizer.get_experimental_options=get_experimental_options
        optimizer.set_experimental_options=set_experimental_options""") + " " + _in(["config.experimental."], """
        get_memory_growth set_memory_growth VirtualDeviceConfiguration=LogicalDeviceConfiguration
        set_virtual_device_configuration=set_logical_device_configuration
        get_virtual_device_configuration=get_logical_device_configuration"""),
    "millstream.ops.nn.ctc_v2": _in(["nn."], """
        ctc_loss_v2 ctc_beam_search_decoder_v2 ctc_unique_labels conv_transpose scale_regularization_loss compute_average_loss"""),
    "millstream.ops.linalg.linear_operators_more": _in(["linalg."], """
        LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant LinearOperatorComposition LinearOperatorHouseholder
        LinearOperatorInversion LinearOperatorKronecker LinearOperatorLowRankUpdate LinearOperatorPermutation LinearOperatorToeplitz
        LinearOperatorTridiag LinearOperatorZeros"""),
}
