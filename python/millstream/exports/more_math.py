# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices, special functions, boxes of images, quantization."""


def _in(spaces, names):
    return " ".join(f"{space}{n.partition('=')[0]}={n.partition('=')[2] or n}" for space in spaces for n in names.split())


_FAKE_QUANT = """
    fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
    fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
    fake_quant_with_min_max_vars_per_channel_gradient"""

EXPORTS = {
    "millstream.ops.matrix_functions": _in(["linalg."], """
        expm logm sqrtm matrix_rank pinv lu_solve lu_matrix_inverse lu_reconstruct tridiagonal_solve tridiagonal_matmul""") +
        " matrix_square_root=sqrtm",
    "millstream.ops.image_boxes": _in(["image."], """
        sample_distorted_bounding_box extract_glimpse non_max_suppression_with_scores non_max_suppression_padded
        non_max_suppression_overlaps combined_non_max_suppression decode_and_crop_jpeg adjust_jpeg_quality random_jpeg_quality""") + " " + _in(
        ["contrib.image."], """transform rotate translate angles_to_projective_transforms translations_to_projective_transforms
        compose_transforms""") + " io.decode_and_crop_jpeg=decode_and_crop_jpeg",
    "millstream.ops.ragged": "RaggedTensor ragged.RaggedTensorValue " + _in(["ragged."], """
        boolean_mask constant constant_value map_flat_values placeholder range=ragged_range row_splits_to_segment_ids segment_ids_to_row_splits
        stack is_ragged"""),
    "millstream.ops.ragged_strings": _in(["strings."], """
        bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode unicode_split unicode_split_with_offsets"""),
    "millstream.ops.special_ops": _in(["math.", "math.special."], "bessel_i0 bessel_i0e bessel_i1 bessel_i1e") + " " + _in(
        ["math.special."], """bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos
        fresnel_sin spence""") + " math.erfcinv=erfcinv " + _in(["random."], """
        stateless_binomial stateless_categorical stateless_gamma stateless_multinomial stateless_poisson""") +
        " " + _in(["nn."], "fractional_max_pool fractional_avg_pool collapse_repeated") + """
        fingerprint extract_volume_patches decode_compressed io.decode_compressed=decode_compressed
        tensor_scatter_nd_max tensor_scatter_nd_min""",
    "millstream.ops.quantize_ops": _in(["", "quantization."], _FAKE_QUANT) + """
        quantize quantize_v2 dequantize quantization.quantize=quantize quantization.dequantize=dequantize
        quantization.quantize_and_dequantize=quantize_and_dequantize quantize_and_dequantize
        quantization.quantize_and_dequantize_v2=quantize_and_dequantize""",
}
