# SPDX-License-Identifier: Apache-2.0
"""Strings, sparse tensors, tables, images."""
import numpy as np
from cases_math import A, k

_R = np.random.RandomState(0)
IMAGE = _R.rand(5, 4, 3).astype(np.float32)
BATCH = _R.rand(2, 4, 4, 3).astype(np.float32)
BYTES = (_R.rand(4, 4, 3) * 255).astype(np.uint8)
WORDS = ["a b c", "d  e", ""]


def sp(tf, values=(1.0, 2.0, 3.0)):
    return tf.SparseTensor([[0, 0], [0, 2], [2, 1]], tf.constant(list(values)), [3, 4])


def sp2(tf):
    return tf.SparseTensor([[0, 0], [1, 1]], tf.constant([5.0, 6.0]), [3, 4])


def table(make):
    def case(tf):
        result = make(tf)
        tf.get_default_graph()._golden_init = tf.tables_initializer()
        return result
    return case


def hash_table(tf):
    init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20], value_dtype=tf.int64)
    t = tf.lookup.StaticHashTable(init, -1)
    return [t.lookup(tf.constant(["b", "x", "a"])), t.size()]


def vocabulary(tf):
    init = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    t = tf.lookup.StaticVocabularyTable(init, 5)
    return [t.lookup(tf.constant(["b", "zebra", "a", "yak"])), t.size()]


def placeholder(tf):
    x = tf.sparse_placeholder(tf.float32, [None, 3], name="sparse")
    tf.get_default_graph()._golden_feeds = {x: tf.SparseTensorValue([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])}
    return tf.sparse_tensor_to_dense(x)


CASES = {
    "string_split": lambda tf: [tf.string_split(WORDS), tf.string_split(["a,b;c"], ",;"),
                                tf.string_split(["a  b"], skip_empty=False)],
    "strings_split": lambda tf: [tf.strings.split(k(tf, WORDS)), tf.strings.split(k(tf, ["a::b"]), "::")],
    "join": lambda tf: [tf.string_join(["a", "b"], "-"), tf.strings.join([k(tf, ["a", "c"]), k(tf, ["b", "d"])])],
    "as_string": lambda tf: [tf.as_string([1, 2]), tf.as_string([1.5], precision=2), tf.strings.as_string([True])],
    "numbers": lambda tf: [tf.string_to_number(["1.5", "2"]), tf.strings.to_number(["3"], tf.int32)],
    "substr": lambda tf: [tf.substr(["hello", "world"], 1, 3), tf.strings.substr("abc", 0, 1)],
    "regex": lambda tf: [tf.regex_replace(["abab"], "a", "x"),
                         tf.strings.regex_replace("abab", "a", "x", replace_global=False),
                         tf.strings.regex_full_match(["ab", "b"], "a.*")],
    "case": lambda tf: [tf.strings.lower("AbC"), tf.strings.upper(["AbC"]), tf.strings.length(["abc", ""]),
                        tf.strings.strip([" a "]), tf.string_strip(" b ")],
    "reduce_join": lambda tf: [tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator="-"),
                               tf.reduce_join([["a", "b"], ["c", "d"]]),
                               tf.strings.reduce_join([["a", "b"]], axis=0, keepdims=True)],
    "hash": lambda tf: [tf.string_to_hash_bucket_fast(["a", "b"], 10), tf.string_to_hash_bucket_strong(["a"], 10, [1, 2]),
                        tf.string_to_hash_bucket(["a"], 10), tf.strings.to_hash_bucket_fast(["a"], 100)],
    "base64": lambda tf: [tf.encode_base64("hello"), tf.decode_base64(tf.encode_base64(["hello"]))],
    "format": lambda tf: [tf.strings.format("x: {}", k(tf, [1, 2])),
                          tf.strings.format("{} and {}", (k(tf, 1.5), k(tf, "s")))],
    "transcode": lambda tf: tf.strings.unicode_transcode(["\u00e9"], "UTF-8", "UTF-16-BE"),
    "to_dense": lambda tf: [tf.sparse_tensor_to_dense(sp(tf)), tf.sparse_tensor_to_dense(sp(tf), -1.0),
                            tf.sparse.to_dense(sp2(tf))],
    "sparse_to_dense": lambda tf: [tf.sparse_to_dense([1, 3], [5], 7), tf.sparse_to_dense([[0, 1]], [2, 2], [3.0], 1.0)],
    "sparse_matmul": lambda tf: [tf.sparse_tensor_dense_matmul(sp(tf), tf.ones([4, 2])),
                                 tf.sparse.sparse_dense_matmul(sp(tf), tf.ones([3, 2]), adjoint_a=True)],
    "sparse_reduce": lambda tf: [tf.sparse_reduce_sum(sp(tf)), tf.sparse_reduce_sum(sp(tf), 1),
                                 tf.sparse.reduce_max(sp(tf), axis=0, keepdims=True)],
    "sparse_add": lambda tf: [tf.sparse_add(sp(tf), sp2(tf)), tf.sparse.add(sp(tf), tf.ones([3, 4]))],
    "sparse_concat": lambda tf: [tf.sparse_concat(1, [sp(tf), sp2(tf)]), tf.sparse.concat(0, [sp(tf), sp2(tf)])],
    "sparse_shape": lambda tf: [tf.sparse_reshape(sp(tf), [4, 3]), tf.sparse_transpose(sp(tf)),
                                tf.sparse_slice(sp(tf), [0, 1], [3, 2])],
    "sparse_order": lambda tf: tf.sparse_reorder(tf.SparseTensor([[1, 0], [0, 1]], [1.0, 2.0], [2, 2])),
    "sparse_retain": lambda tf: tf.sparse_retain(sp(tf), [True, False, True]),
    "sparse_softmax": lambda tf: tf.sparse_softmax(sp(tf)),
    "sparse_extreme": lambda tf: [tf.sparse_maximum(sp(tf), sp2(tf)), tf.sparse_minimum(sp(tf), sp2(tf))],
    "sparse_split": lambda tf: tf.sparse_split(sp_input=sp(tf), num_split=2, axis=1),
    "sparse_fill": lambda tf: tf.sparse_fill_empty_rows(sp(tf), 9.0),
    "sparse_reset": lambda tf: tf.sparse_reset_shape(sp(tf)),
    "from_dense": lambda tf: tf.sparse.from_dense([[0, 1], [2, 0]]),
    "sparse_expand": lambda tf: tf.sparse.expand_dims(sp(tf), 1), "sparse_eye": lambda tf: tf.sparse.eye(2, 3),
    "indicator": lambda tf: tf.sparse_to_indicator(tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 1], tf.int64), [2, 1]),
                                                   3),
    "sparse_serialize": lambda tf: tf.deserialize_many_sparse(tf.expand_dims(tf.serialize_sparse(sp(tf)), 0), tf.float32),
    "edit_distance": lambda tf: tf.edit_distance(tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2]),
                                                 tf.SparseTensor([[0, 0], [0, 1]], ["a", "c"], [1, 2])),
    "sparse_placeholder": placeholder, "sparse_times": lambda tf: [sp(tf) * 2.0, sp(tf) / 2.0],
    "sparse_unary": lambda tf: [tf.abs(sp(tf)), tf.square(sp(tf)), tf.negative(sp(tf)), tf.cast(sp(tf), tf.int32)],
    "hash_table": table(hash_table), "vocabulary": table(vocabulary),
    "resize": lambda tf: [tf.image.resize_images(BATCH, [6, 5]), tf.image.resize_images(IMAGE, [3, 3], 1),
                          tf.image.resize_images(IMAGE, [3, 3], 2),
                          tf.image.resize_images(IMAGE, [3, 2], tf.image.ResizeMethod.AREA),
                          tf.image.resize_images(IMAGE, [5, 4])],
    "resize_more": lambda tf: [tf.image.resize_bilinear(BATCH, [8, 8], align_corners=True),
                               tf.image.resize_nearest_neighbor(BATCH, [2, 2])],
    "flip": lambda tf: [tf.image.flip_left_right(IMAGE), tf.image.flip_up_down(BATCH), tf.image.rot90(IMAGE),
                        tf.image.rot90(BATCH, 3), tf.image.transpose_image(IMAGE)],
    "random_flip": lambda tf: [tf.image.random_flip_left_right(IMAGE, seed=1), tf.image.random_flip_up_down(IMAGE, seed=5)],
    "crop": lambda tf: [tf.image.crop_to_bounding_box(IMAGE, 1, 0, 3, 2), tf.image.pad_to_bounding_box(IMAGE, 1, 2, 8, 9),
                        tf.image.central_crop(IMAGE, 0.5)],
    "crop_or_pad": lambda tf: [tf.image.resize_image_with_crop_or_pad(IMAGE, 3, 6),
                               tf.image.resize_image_with_crop_or_pad(BATCH, 6, 3)],
    "crop_and_resize": lambda tf: tf.image.crop_and_resize(BATCH, [[0.0, 0.0, 0.5, 0.5]], [1], [3, 3]),
    "standardize": lambda tf: [tf.image.per_image_standardization(IMAGE), tf.image.per_image_standardization(BYTES)],
    "adjust": lambda tf: [tf.image.adjust_brightness(IMAGE, 0.1), tf.image.adjust_contrast(IMAGE, 2.0),
                          tf.image.adjust_gamma(IMAGE, 2.0),
                          tf.image.adjust_brightness(BYTES, 0.1)],
    "adjust_hue": lambda tf: [tf.image.adjust_hue(IMAGE, 0.2), tf.image.adjust_saturation(IMAGE, 0.5)],
    "random_adjust": lambda tf: [tf.image.random_brightness(IMAGE, 0.3, seed=1),
                                 tf.image.random_contrast(IMAGE, 0.5, 1.5, seed=2)],
    "convert": lambda tf: [tf.image.convert_image_dtype(BYTES, tf.float32), tf.image.convert_image_dtype(IMAGE, tf.uint8),
                           tf.image.convert_image_dtype(BYTES, tf.int32)],
    "gray": lambda tf: [tf.image.rgb_to_grayscale(IMAGE), tf.image.grayscale_to_rgb(k(tf, IMAGE[:, :, :1])),
                        tf.image.rgb_to_grayscale(BYTES)],
    "hsv": lambda tf: [tf.image.rgb_to_hsv(IMAGE), tf.image.hsv_to_rgb(IMAGE)],
    "variation": lambda tf: [tf.image.total_variation(k(tf, IMAGE)), tf.image.total_variation(k(tf, BATCH))],
    "yuv": lambda tf: [getattr(tf.image, n)(k(tf, IMAGE)) for n in ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb")],
    "image_gradients": lambda tf: tf.image.image_gradients(k(tf, BATCH)),
    "psnr": lambda tf: tf.image.psnr(BATCH, BATCH * 0.5, 1.0),
    "patches": lambda tf: tf.extract_image_patches(BATCH, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
    "suppress": lambda tf: tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]],
                                                        [0.9, 0.8, 0.7], 3),
    "linalg": lambda tf: [tf.matrix_inverse([[2.0, 1.0], [1.0, 3.0]]), tf.matrix_determinant([[2.0, 1.0], [1.0, 3.0]]),
                          tf.cholesky([[2.0, 1.0], [1.0, 3.0]]),
                          tf.matrix_solve([[2.0, 1.0], [1.0, 3.0]], [[1.0], [2.0]]),
                          tf.matrix_triangular_solve([[2.0, 0.0], [1.0, 3.0]], [[1.0], [2.0]])],
    "linalg_more": lambda tf: [tf.svd([[2.0, 1.0], [1.0, 3.0]], compute_uv=False),
                               tf.self_adjoint_eigvals([[2.0, 1.0], [1.0, 3.0]]),
                               tf.linalg.logdet([[2.0, 1.0], [1.0, 3.0]]),
                               tf.cholesky_solve([[2.0, 0.0], [1.0, 3.0]], [[1.0], [2.0]]),
                               tf.matrix_solve_ls([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]], [[1.0], [2.0], [0.5]]),
                               tf.norm(A, 2, axis=(0, 1))],
    "sets": lambda tf: [tf.sets.intersection(k(tf, [[1, 2], [3, 4]]), k(tf, [[2, 9], [3, 4]])),
                        tf.sets.union(k(tf, [[1, 2]]), k(tf, [[2, 3]])),
             tf.sets.difference(k(tf, [[1, 2, 3]]), k(tf, [[2]])),
             tf.sets.size(tf.sets.union(k(tf, [[1, 2]]), k(tf, [[2, 3]])))],
    "fourier": lambda tf: [tf.spectral.fft(k(tf, [1 + 2j, 3 + 0j])), tf.signal.rfft([1.0, 2.0, 3.0, 4.0]),
                           tf.signal.irfft(tf.cast(k(tf, [10 + 0j, -2 + 2j, -2 + 0j]), tf.complex64)),
                           tf.fft2d(tf.cast(k(tf, [[1 + 2j, 3 + 0j], [0 + 0j, 1 + 1j]]), tf.complex64))],
    "special": lambda tf: [tf.math.erfinv([0.5]), tf.math.ndtri([0.3]), tf.math.nextafter(k(tf, [1.0]), k(tf, [2.0])),
                           tf.linalg.lu([[2.0, 1.0], [1.0, 3.0]])],
    "setdiff": lambda tf: tf.setdiff1d([1, 2, 3, 4], [2, 4]),
    "scatter_update": lambda tf: [tf.tensor_scatter_update([1, 2, 3], [[1]], [9]),
                                  tf.tensor_scatter_add([1, 2, 3], [[1]], [9])],
    "error_sparse": lambda tf: tf.sparse_tensor_to_dense([1]),
    "error_resize": lambda tf: tf.image.resize_images([1.0], [2, 2]),
    "error_crop": lambda tf: tf.image.crop_to_bounding_box(IMAGE, 3, 0, 3, 2),
    "error_number": lambda tf: tf.string_to_number(["x"]),
    "error_format": lambda tf: tf.strings.format("{} {}", k(tf, 1)),
    "error_fraction": lambda tf: tf.image.central_crop(IMAGE, 2.0),
}
OTHER_NODES = set(CASES)
OTHER_ERRORS = {"error_resize"}
TOLERANCE = {"resize": 1e-4, "adjust_hue": 1e-4, "linalg": 1e-4, "linalg_more": 1e-3}
