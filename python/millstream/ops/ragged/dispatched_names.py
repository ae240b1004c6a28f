# SPDX-License-Identifier: Apache-2.0
"""Which public functions take ragged tensors, too. ragged_dispatch.py says how; it is loaded with the first ragged tensor."""
import functools

UNARY = """abs acos acosh asin asinh atan atanh cast ceil conj cos cosh digamma erf erfc exp expm1 floor identity imag is_finite is_inf
    is_nan lgamma log log1p log_sigmoid logical_not negative real reciprocal rint round rsqrt sigmoid sign sin sinh sqrt square tan tanh
    zeros_like ones_like stop_gradient check_numerics as_string string_to_number string_to_hash_bucket string_to_hash_bucket_fast
    string_to_hash_bucket_strong regex_replace substr clip_by_value saturate_cast to_float to_double to_int32 to_int64 one_hot
    bitcast decode_base64 encode_base64 strings.lower strings.upper strings.length strings.strip strings.regex_full_match
    strings.regex_replace strings.substr strings.to_number strings.as_string strings.to_hash_bucket strings.to_hash_bucket_fast
    strings.to_hash_bucket_strong strings.unicode_transcode nn.relu nn.relu6 nn.elu nn.selu nn.sigmoid nn.tanh nn.softplus
    nn.softsign nn.leaky_relu nn.dropout dtypes.cast bitwise.invert"""
BINARY = """add atan2 div div_no_nan divide equal floordiv floormod greater greater_equal less less_equal logical_and logical_or logical_xor
    maximum minimum mod multiply not_equal pow realdiv squared_difference subtract truediv truncatediv truncatemod
    bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor"""
REDUCE = "reduce_sum reduce_prod reduce_min reduce_max reduce_mean reduce_all reduce_any"
OTHERS = """concat stack expand_dims gather tile where where_v2 boolean_mask size rank reverse nn.embedding_lookup add_n string_join
    strings.join batch_gather"""

_NAMES = frozenset(" ".join((UNARY, BINARY, REDUCE, OTHERS)).split())
replacements: dict = {}  # function -> what is called in its place; filled when ragged tensors are first used
_public: dict = {}  # function -> its public form, which all of its names share


def namespaces(path):
    """The public modules that have the names of a namespace: [] for tf, ["nn"] for tf.nn."""
    return [".".join(["millstream"] + path)] + (["millstream.math", "millstream.manip"] if not path else [])


def public(module_name, name, function):
    """The public form of a function: one that programs may have taken before they make their first ragged tensor."""
    path = module_name.split(".")[1:]
    if ".".join(path + [name]) not in _NAMES and not (path in (["math"], ["manip"]) and name in _NAMES):
        return function
    if function not in _public:
        @functools.wraps(function)
        def call(*args, **kwargs):
            return replacements.get(function, function)(*args, **kwargs)
        _public[function] = call
    return _public[function]
