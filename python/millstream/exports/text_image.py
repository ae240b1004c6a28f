# SPDX-License-Identifier: Apache-2.0
"""Strings, sparse tensors, tables and images."""


def _in(space, names):
    return " ".join(f"{space}.{n.partition('=')[0]}={n.partition('=')[2] or n}" for n in names.split())


EXPORTS = {
    "millstream.ops.strings.string_ops": """
        string_split string_join as_string string_to_number substr regex_replace string_strip string_to_hash_bucket
        string_to_hash_bucket_fast string_to_hash_bucket_strong reduce_join encode_base64 decode_base64 decode_json_example
        io.encode_base64=encode_base64 io.decode_base64=decode_base64 """ + _in("strings", """
        split=string_split_v2 join=string_join as_string to_number=string_to_number substr regex_replace regex_full_match
        length=string_length strip=string_strip lower=string_lower upper=string_upper to_hash_bucket=string_to_hash_bucket
        to_hash_bucket_fast=string_to_hash_bucket_fast to_hash_bucket_strong=string_to_hash_bucket_strong reduce_join
        format=string_format unicode_transcode"""),
    "millstream.ops.sparse.sparse_ops": """
        sparse_placeholder sparse_to_dense sparse_tensor_to_dense sparse_to_indicator sparse_merge sparse_reorder
        sparse_reshape
        sparse_retain sparse_concat sparse_add sparse_split sparse_slice sparse_transpose sparse_softmax sparse_maximum
        sparse_minimum sparse_reduce_sum sparse_reduce_max sparse_reduce_sum_sparse sparse_reduce_max_sparse
        sparse_tensor_dense_matmul sparse_fill_empty_rows sparse_reset_shape serialize_sparse serialize_many_sparse
        deserialize_many_sparse edit_distance contrib.layers.dense_to_sparse=from_dense """ + _in("sparse", """
        placeholder=sparse_placeholder to_dense=sparse_tensor_to_dense to_indicator=sparse_to_indicator from_dense
        reorder=sparse_reorder reshape=sparse_reshape retain=sparse_retain concat=sparse_concat add=sparse_add
        split=sparse_split
        slice=sparse_slice transpose=sparse_transpose softmax=sparse_softmax maximum=sparse_maximum minimum=sparse_minimum
        reduce_sum=sparse_reduce_sum reduce_max=sparse_reduce_max reduce_sum_sparse=sparse_reduce_sum_sparse
        reduce_max_sparse=sparse_reduce_max_sparse sparse_dense_matmul=sparse_tensor_dense_matmul
        matmul=sparse_tensor_dense_matmul fill_empty_rows=sparse_fill_empty_rows reset_shape=sparse_reset_shape
        expand_dims=sparse_expand_dims eye=sparse_eye merge=sparse_merge"""),
    "millstream.ops.lookup.lookup_ops": "tables_initializer initialize_all_tables "
                                 "initializers.tables_initializer=tables_initializer "
                                 + _in("lookup", """
        KeyValueTensorInitializer TextFileInitializer TextFileIndex StaticHashTable StaticVocabularyTable HashTable
        experimental.MutableHashTable=MutableHashTable""") + " " + _in("contrib.lookup", """
        KeyValueTensorInitializer TextFileInitializer TextFileIndex TextFileStringTableInitializer TextFileIdTableInitializer
        HashTable MutableHashTable IdTableWithHashBuckets HasherSpec FastHashSpec StrongHashSpec index_table_from_tensor index_table_from_file
        index_to_string_table_from_tensor index_to_string_table_from_file string_to_index index_to_string
        string_to_index_table_from_tensor=index_table_from_tensor string_to_index_table_from_file=index_table_from_file"""),
    "millstream.ops.image.image_ops": "extract_image_patches " + _in("image", """
        ResizeMethod resize_images resize=resize_images resize_bilinear resize_nearest_neighbor resize_bicubic resize_area
        flip_left_right flip_up_down random_flip_left_right random_flip_up_down transpose_image transpose=transpose_image
        rot90
        pad_to_bounding_box crop_to_bounding_box central_crop resize_image_with_crop_or_pad
        resize_with_crop_or_pad=resize_image_with_crop_or_pad resize_image_with_pad crop_and_resize extract_image_patches
        extract_patches non_max_suppression draw_bounding_boxes decode_png decode_jpeg encode_png
        encode_jpeg"""),
    "millstream.ops.image.image_color_ops": _in("image", """
        convert_image_dtype per_image_standardization per_image_whitening=per_image_standardization adjust_brightness
        adjust_contrast adjust_hue adjust_saturation adjust_gamma random_brightness random_contrast random_hue
        random_saturation
        rgb_to_grayscale grayscale_to_rgb rgb_to_hsv hsv_to_rgb total_variation psnr"""),
}
EXPORTS["millstream.ops.image.image_quality_ops"] = _in("image", "decode_image decode_bmp decode_gif is_jpeg sobel_edges ssim ssim_multiscale") + \
    " " + _in("io", "decode_image decode_bmp decode_gif is_jpeg")
EXPORTS["millstream.ops.image.image_ops"] += " " + _in("io", "decode_png decode_jpeg encode_png encode_jpeg")
EXPORTS["millstream.ops.sparse.sparse_ops"] += " " + _in("io", "serialize_sparse serialize_many_sparse deserialize_many_sparse")
EXPORTS["millstream.ops.sparse.sparse_ops"] += " sparse.cross=sparse_cross sparse.cross_hashed=sparse_cross_hashed"
EXPORTS["millstream.ops.strings.string_ops"] += " io.decode_json_example=decode_json_example dtypes.as_string=as_string"
EXPORTS["millstream.ops.image.image_color_ops"] += " " + _in("image", """
    rgb_to_yiq yiq_to_rgb rgb_to_yuv yuv_to_rgb image_gradients""")
EXPORTS["millstream.ops.sparse.sparse_ops"] += " sparse.bincount=sparse_bincount"
EXPORTS["millstream.ops.io.proto_ops"] = _in("io", "decode_proto encode_proto") + " " + _in("contrib.proto", "decode_proto encode_proto")
