# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.gen_ops import acos as acos
from millstream.gen_ops import acosh as acosh
from millstream.gen_ops import asin as asin
from millstream.gen_ops import asinh as asinh
from millstream.gen_ops import atan as atan
from millstream.gen_ops import atan2 as atan2
from millstream.gen_ops import atanh as atanh
from millstream.gen_ops import ceil as ceil
from millstream.gen_ops import ceil as ceiling
from millstream.gen_ops import cos as cos
from millstream.gen_ops import cosh as cosh
from millstream.gen_ops import digamma as digamma
from millstream.gen_ops import equal as equal
from millstream.gen_ops import erfc as erfc
from millstream.gen_ops import exp as exp
from millstream.gen_ops import expm1 as expm1
from millstream.gen_ops import floor as floor
from millstream.gen_ops import floor_div as floor_div
from millstream.gen_ops import greater as greater
from millstream.gen_ops import greater_equal as greater_equal
from millstream.gen_ops import invert_permutation as invert_permutation
from millstream.gen_ops import is_finite as is_finite
from millstream.gen_ops import is_inf as is_inf
from millstream.gen_ops import is_nan as is_nan
from millstream.gen_ops import less as less
from millstream.gen_ops import less_equal as less_equal
from millstream.gen_ops import lgamma as lgamma
from millstream.gen_ops import log as log
from millstream.gen_ops import log1p as log1p
from millstream.gen_ops import logical_and as logical_and
from millstream.gen_ops import logical_not as logical_not
from millstream.gen_ops import logical_or as logical_or
from millstream.gen_ops import maximum as maximum
from millstream.gen_ops import minimum as minimum
from millstream.gen_ops import not_equal as not_equal
from millstream.gen_ops import polygamma as polygamma
from millstream.gen_ops import reciprocal as reciprocal
from millstream.gen_ops import rint as rint
from millstream.gen_ops import rsqrt as rsqrt
from millstream.gen_ops import segment_max as segment_max
from millstream.gen_ops import segment_mean as segment_mean
from millstream.gen_ops import segment_min as segment_min
from millstream.gen_ops import segment_prod as segment_prod
from millstream.gen_ops import segment_sum as segment_sum
from millstream.gen_ops import sin as sin
from millstream.gen_ops import sinh as sinh
from millstream.gen_ops import softplus as softplus
from millstream.gen_ops import softsign as softsign
from millstream.gen_ops import squared_difference as squared_difference
from millstream.gen_ops import tan as tan
from millstream.gen_ops import unsorted_segment_max as unsorted_segment_max
from millstream.gen_ops import unsorted_segment_min as unsorted_segment_min
from millstream.gen_ops import unsorted_segment_prod as unsorted_segment_prod
from millstream.gen_ops import unsorted_segment_sum as unsorted_segment_sum
from millstream.gen_ops import xdivy as xdivy
from millstream.gen_ops import xlog1py as xlog1py
from millstream.gen_ops import xlogy as xlogy
from millstream.gen_ops import zeta as zeta
from millstream.math import special as special
from millstream.ops.debugging.check_ops import is_non_decreasing as is_non_decreasing
from millstream.ops.debugging.check_ops import is_strictly_increasing as is_strictly_increasing
from millstream.ops.math.math_ops import abs as abs
from millstream.ops.math.math_ops import accumulate_n as accumulate_n
from millstream.ops.math.math_ops import add as add
from millstream.ops.math.math_ops import add_n as add_n
from millstream.ops.math.math_ops import angle as angle
from millstream.ops.math.math_ops import argmax as argmax
from millstream.ops.math.math_ops import argmin as argmin
from millstream.ops.math.math_ops import complex as complex
from millstream.ops.math.math_ops import conj as conj
from millstream.ops.math.math_ops import cumprod as cumprod
from millstream.ops.math.math_ops import cumsum as cumsum
from millstream.ops.math.math_ops import cumulative_logsumexp as cumulative_logsumexp
from millstream.ops.math.math_ops import div as div
from millstream.ops.math.math_ops import div_no_nan as div_no_nan
from millstream.ops.math.math_ops import div_no_nan as divide_no_nan
from millstream.ops.math.math_ops import divide as divide
from millstream.ops.math.math_ops import erf as erf
from millstream.ops.math.math_ops import floordiv as floordiv
from millstream.ops.math.math_ops import floormod as floormod
from millstream.ops.math.math_ops import imag as imag
from millstream.ops.math.math_ops import lbeta as lbeta
from millstream.ops.math.math_ops import linspace as linspace
from millstream.ops.math.math_ops import log_sigmoid as log_sigmoid
from millstream.ops.math.math_ops import logical_xor as logical_xor
from millstream.ops.math.math_ops import mod as mod
from millstream.ops.math.math_ops import multiply as multiply
from millstream.ops.math.math_ops import multiply_no_nan as multiply_no_nan
from millstream.ops.math.math_ops import negative as negative
from millstream.ops.math.math_ops import polyval as polyval
from millstream.ops.math.math_ops import pow as pow
from millstream.ops.math.math_ops import real as real
from millstream.ops.math.math_ops import realdiv as realdiv
from millstream.ops.math.math_ops import reciprocal_no_nan as reciprocal_no_nan
from millstream.ops.math.math_ops import round as round
from millstream.ops.math.math_ops import scalar_mul as scalar_mul
from millstream.ops.math.math_ops import sigmoid as sigmoid
from millstream.ops.math.math_ops import sign as sign
from millstream.ops.math.math_ops import sqrt as sqrt
from millstream.ops.math.math_ops import square as square
from millstream.ops.math.math_ops import subtract as subtract
from millstream.ops.math.math_ops import tanh as tanh
from millstream.ops.math.math_ops import truediv as truediv
from millstream.ops.math.math_ops import truncatediv as truncatediv
from millstream.ops.math.math_ops import truncatemod as truncatemod
from millstream.ops.math.reduce_ops import bincount as bincount
from millstream.ops.math.reduce_ops import confusion_matrix as confusion_matrix
from millstream.ops.math.reduce_ops import count_nonzero as count_nonzero
from millstream.ops.math.reduce_ops import reduce_all as reduce_all
from millstream.ops.math.reduce_ops import reduce_any as reduce_any
from millstream.ops.math.reduce_ops import reduce_euclidean_norm as reduce_euclidean_norm
from millstream.ops.math.reduce_ops import reduce_logsumexp as reduce_logsumexp
from millstream.ops.math.reduce_ops import reduce_max as reduce_max
from millstream.ops.math.reduce_ops import reduce_mean as reduce_mean
from millstream.ops.math.reduce_ops import reduce_min as reduce_min
from millstream.ops.math.reduce_ops import reduce_prod as reduce_prod
from millstream.ops.math.reduce_ops import reduce_std as reduce_std
from millstream.ops.math.reduce_ops import reduce_sum as reduce_sum
from millstream.ops.math.reduce_ops import reduce_variance as reduce_variance
from millstream.ops.math.reduce_ops import unsorted_segment_mean as unsorted_segment_mean
from millstream.ops.math.reduce_ops import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from millstream.ops.math.special_ops import bessel_i0 as bessel_i0
from millstream.ops.math.special_ops import bessel_i0e as bessel_i0e
from millstream.ops.math.special_ops import bessel_i1 as bessel_i1
from millstream.ops.math.special_ops import bessel_i1e as bessel_i1e
from millstream.ops.math.special_ops import erfcinv as erfcinv
from millstream.ops.math.special_ops import sobol_sample as sobol_sample
from millstream.ops.nn.nn_ops import in_top_k as in_top_k
from millstream.ops.nn.nn_ops import l2_normalize as l2_normalize
from millstream.ops.nn.nn_ops import log_softmax as log_softmax
from millstream.ops.nn.nn_ops import softmax as softmax
from millstream.ops.nn.nn_ops import top_k as top_k
from millstream.ops.nn.nn_ops import zero_fraction as zero_fraction
from millstream.ops.plain_ops import betainc as betainc
from millstream.ops.plain_ops import erfinv as erfinv
from millstream.ops.plain_ops import igamma as igamma
from millstream.ops.plain_ops import igammac as igammac
from millstream.ops.plain_ops import ndtri as ndtri
from millstream.ops.plain_ops import nextafter as nextafter

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "angle",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "betainc",
    "bincount",
    "ceil",
    "ceiling",
    "complex",
    "confusion_matrix",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "digamma",
    "div",
    "div_no_nan",
    "divide",
    "divide_no_nan",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "igamma",
    "igammac",
    "imag",
    "in_top_k",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "linspace",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "real",
    "realdiv",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "rint",
    "round",
    "rsqrt",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sobol_sample",
    "softmax",
    "softplus",
    "softsign",
    "special",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "top_k",
    "truediv",
    "truncatediv",
    "truncatemod",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zero_fraction",
    "zeta",
]
