# SPDX-License-Identifier: Apache-2.0
"""Names of functions of elements, arrays, matrices, branches and loops."""

# Ops whose wrapper is the public function: tf.NAME and tf.math.NAME.
_PLAIN_MATH = """
    acos acosh asin asinh atan atan2 atanh ceil cos cosh digamma equal erfc exp expm1 floor greater greater_equal
     is_finite is_inf is_nan less less_equal lgamma log log1p logical_and logical_not logical_or maximum minimum
    not_equal polygamma reciprocal rint rsqrt segment_max segment_mean segment_min segment_prod segment_sum sin sinh
    squared_difference tan unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum zeta
    invert_permutation"""
_MATH = """
    abs accumulate_n add add_n angle argmax argmin complex conj cumprod cumsum div div_no_nan=div_no_nan divide erf
    floordiv floormod imag lbeta log_sigmoid logical_xor mod multiply negative polyval pow real round scalar_mul sigmoid sign
    sqrt square subtract tanh truediv truncatediv truncatemod realdiv"""
_REDUCE = """
    count_nonzero reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum
    confusion_matrix bincount unsorted_segment_mean unsorted_segment_sqrt_n"""


def _both(names, space):
    """Each name at the top and in a namespace."""
    out = []
    for entry in names.split():
        public, _, attribute = entry.partition("=")
        attribute = attribute or public
        out += [f"{public}={attribute}", f"{space}.{public}={attribute}"]
    return " ".join(out)


EXPORTS = {
    "millstream.gen_ops": _both(_PLAIN_MATH, "math") + """
        floor_div math.floor_div=floor_div math.xlogy=xlogy math.xdivy=xdivy math.xlog1py=xlog1py ceiling=ceil
        math.ceiling=ceil
        bitcast broadcast_to check_numerics
        debugging.check_numerics=check_numerics debugging.is_finite=is_finite debugging.is_inf=is_inf debugging.is_nan=is_nan
        diag_part=diag_part dynamic_partition dynamic_stitch
        matrix_band_part linalg.band_part=matrix_band_part
         scatter_nd
        space_to_batch_nd batch_to_space_nd stop_gradient tile
        bitwise.bitwise_and=bitwise_and bitwise.bitwise_or=bitwise_or bitwise.bitwise_xor=bitwise_xor bitwise.invert=invert
        bitwise.left_shift=left_shift bitwise.right_shift=right_shift
        identity_n inv=inv""",
    "millstream.ops.math.math_ops": _both(_MATH, "math") + """
        cast saturate_cast to_float to_double to_int32 to_int64 to_bfloat16 to_complex64 to_complex128 dtypes.cast=cast
        dtypes.complex=complex dtypes.saturate_cast=saturate_cast range linspace lin_space=linspace math.linspace=linspace
        math.divide_no_nan=div_no_nan math.multiply_no_nan=multiply_no_nan math.cumulative_logsumexp=cumulative_logsumexp
        arg_max arg_min mul=multiply sub=subtract neg=negative complex_abs nn.sigmoid=sigmoid nn.tanh=tanh
        nn.log_sigmoid=log_sigmoid""",
    "millstream.ops.math.reduce_ops": _both(_REDUCE, "math") + """
        math.reduce_std=reduce_std math.reduce_variance=reduce_variance math.reduce_euclidean_norm=reduce_euclidean_norm
        trace linalg.trace=trace norm linalg.norm=norm histogram_fixed_width histogram_fixed_width_bins
        sparse_segment_sum sparse_segment_mean sparse_segment_sqrt_n sparse.segment_sum=sparse_segment_sum
        sparse.segment_mean=sparse_segment_mean sparse.segment_sqrt_n=sparse_segment_sqrt_n""",
    "millstream.ops.array.array_ops": """
        identity shape shape_n size rank reshape expand_dims squeeze concat stack pack parallel_stack unstack unpack split
        transpose matrix_transpose linalg.transpose=matrix_transpose slice strided_slice zeros ones zeros_like ones_like
        fill eye linalg.eye=eye diag linalg.tensor_diag=diag pad reverse reverse_v2=reverse unique unique_with_counts
        broadcast_static_shape broadcast_dynamic_shape meshgrid manip.reshape=reshape manip.reverse=reverse
        """,
    "millstream.ops.array.index_ops": """
        gather gather_nd batch_gather where where_v2 select=where boolean_mask sparse_mask sparse.mask=sparse_mask one_hot
        sequence_mask reverse_sequence space_to_depth depth_to_space space_to_batch batch_to_space
        required_space_to_batch_paddings repeat roll manip.roll=roll manip.gather_nd=gather_nd searchsorted sort argsort
        nn.space_to_depth=space_to_depth nn.depth_to_space=depth_to_space nn.space_to_batch=space_to_batch
        contrib.framework.sort=sort contrib.framework.argsort=argsort""",
    "millstream.ops.linalg.linalg_ops": """
        matmul linalg.matmul=matmul batch_matmul sparse_matmul linalg.matvec=matvec tensordot linalg.tensordot=tensordot
        einsum linalg.einsum=einsum cross linalg.cross=cross matrix_diag linalg.diag=matrix_diag matrix_diag_part
        linalg.diag_part=matrix_diag_part matrix_set_diag linalg.set_diag=matrix_set_diag svd linalg.svd=svd
        self_adjoint_eig linalg.eigh=self_adjoint_eig self_adjoint_eigvals linalg.eigvalsh=self_adjoint_eigvals
        cholesky_solve linalg.cholesky_solve=cholesky_solve matrix_solve_ls linalg.lstsq=matrix_solve_ls
        linalg.logdet=logdet linalg.adjoint=adjoint""",
    "millstream.ops.math.clip_ops": """
        clip_by_value clip_by_norm clip_by_average_norm clip_by_global_norm global_norm linalg.global_norm=global_norm""",
    "millstream.ops.debugging.check_ops": """
        assert_equal assert_none_equal assert_less assert_less_equal assert_greater assert_greater_equal assert_positive
        assert_negative assert_non_negative assert_non_positive assert_near assert_rank assert_rank_at_least assert_rank_in
        assert_integer assert_type assert_scalar is_numeric_tensor is_non_decreasing is_strictly_increasing
        assert_proper_iterable assert_same_float_dtype debugging.assert_same_float_dtype=assert_same_float_dtype
        ensure_shape verify_tensor_all_finite add_check_numerics_ops debugging.assert_equal=assert_equal
        debugging.assert_none_equal=assert_none_equal debugging.assert_less=assert_less
        debugging.assert_less_equal=assert_less_equal debugging.assert_greater=assert_greater
        debugging.assert_greater_equal=assert_greater_equal debugging.assert_positive=assert_positive
        debugging.assert_negative=assert_negative debugging.assert_non_negative=assert_non_negative
        debugging.assert_non_positive=assert_non_positive debugging.assert_near=assert_near debugging.assert_rank=assert_rank
        debugging.assert_rank_at_least=assert_rank_at_least debugging.assert_rank_in=assert_rank_in
        debugging.assert_integer=assert_integer debugging.assert_type=assert_type debugging.assert_scalar=assert_scalar
        debugging.assert_all_finite=verify_tensor_all_finite debugging.is_numeric_tensor=is_numeric_tensor
        math.is_non_decreasing=is_non_decreasing math.is_strictly_increasing=is_strictly_increasing
        contrib.framework.assert_scalar=assert_scalar contrib.framework.assert_same_float_dtype=assert_same_float_dtype
        debugging.is_non_decreasing=is_non_decreasing debugging.is_strictly_increasing=is_strictly_increasing""",
    "millstream.ops.flow.control_flow_ops": """
        cond while_loop group tuple no_op Assert debugging.Assert=Assert contrib.framework.smart_cond=smart_cond
        with_dependencies contrib.framework.with_dependencies=with_dependencies""",
    "millstream.ops.flow.case_ops": "case switch_case",
    "millstream.ops.flow.tensor_array_ops": "TensorArray",
    "millstream.ops.flow.functional_ops": "map_fn foldl foldr scan",
    "millstream.ops.nest": """
        nest.flatten=flatten nest.pack_sequence_as=pack_sequence_as nest.map_structure=map_structure
        nest.assert_same_structure=assert_same_structure nest.is_nested=is_nested contrib.framework.nest=""",
    "millstream.ops.random.random_ops": """
        random_normal random_uniform truncated_normal random_shuffle random_crop multinomial random_gamma random_poisson
        random.normal=random_normal random.uniform=random_uniform random.truncated_normal=truncated_normal
        random.shuffle=random_shuffle random.multinomial=multinomial random.categorical=categorical random.gamma=random_gamma
        random.poisson=random_poisson random.stateless_uniform=stateless_random_uniform
        random.stateless_normal=stateless_random_normal random.stateless_truncated_normal=stateless_truncated_normal
        random.stateless_random_uniform=stateless_random_uniform random.stateless_random_normal=stateless_random_normal
        contrib.stateless.stateless_random_uniform=stateless_random_uniform
        contrib.stateless.stateless_random_normal=stateless_random_normal image.random_crop=random_crop""",
}
EXPORTS["millstream.ops.queues.session_ops"] = "get_session_handle get_session_tensor delete_session_tensor"
EXPORTS["millstream.ops.debugging.logging_ops"] = "Print print=print_v2"
EXPORTS["millstream.ops.plain_ops"] = """
    matrix_inverse linalg.inv=matrix_inverse matrix_determinant linalg.det=matrix_determinant
    linalg.slogdet=log_matrix_determinant matrix_solve linalg.solve=matrix_solve matrix_triangular_solve
    linalg.triangular_solve=matrix_triangular_solve cholesky linalg.cholesky=cholesky qr linalg.qr=qr setdiff1d
    listdiff tensor_scatter_update tensor_scatter_add tensor_scatter_sub
    tensor_scatter_nd_update=tensor_scatter_update tensor_scatter_nd_add=tensor_scatter_add
    tensor_scatter_nd_sub=tensor_scatter_sub unravel_index igamma math.igamma=igamma igammac math.igammac=igammac betainc
    math.betainc=betainc fft ifft fft2d ifft2d spectral.fft=fft spectral.ifft=ifft spectral.fft2d=fft2d
    spectral.ifft2d=ifft2d
    signal.fft=fft signal.ifft=ifft signal.fft2d=fft2d signal.ifft2d=ifft2d nn.ctc_loss=ctc_loss
    nn.ctc_greedy_decoder=ctc_greedy_decoder nn.ctc_beam_search_decoder=ctc_beam_search_decoder"""
EXPORTS["millstream.ops.functions.custom_gradient"] = "custom_gradient grad_pass_through recompute_grad"
EXPORTS["millstream.framework.dtypes"] = " ".join(f"dtypes.{n}={n}" for n in """
    QUANTIZED_DTYPES bfloat16 bool complex128 complex64 double float16 float32 float64 half int16 int32 int64 int8 qint16 qint32
    qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 variant""".split())
EXPORTS["millstream.gen_ops"] += """
    image.extract_jpeg_shape=extract_jpeg_shape io.extract_jpeg_shape=extract_jpeg_shape
    math.softplus=softplus math.softsign=softsign linalg.tensor_diag_part=diag_part manip.tile=tile manip.scatter_nd=scatter_nd
    manip.space_to_batch_nd=space_to_batch_nd manip.batch_to_space_nd=batch_to_space_nd
    nn.depthwise_conv2d_native_backprop_input=depthwise_conv2d_native_backprop_input
    nn.depthwise_conv2d_native_backprop_filter=depthwise_conv2d_native_backprop_filter
    nn.depthwise_conv2d_backprop_input=depthwise_conv2d_native_backprop_input
    nn.depthwise_conv2d_backprop_filter=depthwise_conv2d_native_backprop_filter guarantee_const=identity"""
EXPORTS["millstream.ops.array.array_ops"] += " linalg.matrix_transpose=matrix_transpose"
EXPORTS["millstream.ops.debugging.check_ops"] += " debugging.assert_proper_iterable=assert_proper_iterable"
EXPORTS["millstream.ops.flow.functional_ops"] += " vectorized_map=map_fn"
EXPORTS["millstream.ops.math.math_ops"] += " math.reciprocal_no_nan=reciprocal_no_nan"
EXPORTS["millstream.ops.linalg.linalg_ops"] += " linalg.normalize=normalize"
EXPORTS["millstream.ops.plain_ops"] += """
    fft3d ifft3d math.erfinv=erfinv math.ndtri=ndtri math.nextafter=nextafter timestamp linalg.lu=lu
    strings.unsorted_segment_join=unsorted_segment_join """ + " ".join(
        f"{space}.{n}={n}" for space in ("spectral", "signal")
        for n in "fft3d ifft3d rfft irfft rfft2d irfft2d rfft3d irfft3d".split())
EXPORTS["millstream.ops.sparse.sets_ops"] = """
    sets.set_size=set_size sets.set_intersection=set_intersection sets.set_union=set_union sets.set_difference=set_difference
    sets.size=set_size sets.intersection=set_intersection sets.union=set_union sets.difference=set_difference"""
