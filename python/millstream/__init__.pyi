# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream import app as app
from millstream import audio as audio
from millstream import bitwise as bitwise
from millstream import compat as compat
from millstream import config as config
from millstream import contrib as contrib
from millstream import data as data
from millstream import debugging as debugging
from millstream import distribute as distribute
from millstream import distributions as distributions
from millstream import dtypes as dtypes
from millstream import errors as errors
from millstream import estimator as estimator
from millstream import examples as examples
from millstream import feature_column as feature_column
from millstream import gen_ops as gen_ops
from millstream import gfile as gfile
from millstream import graph_util as graph_util
from millstream import image as image
from millstream import initializers as initializers
from millstream import io as io
from millstream import keras as keras
from millstream import layers as layers
from millstream import linalg as linalg
from millstream import logging as logging
from millstream import lookup as lookup
from millstream import losses as losses
from millstream import manip as manip
from millstream import math as math
from millstream import metrics as metrics
from millstream import mixed_precision as mixed_precision
from millstream import nest as nest
from millstream import nn as nn
from millstream import python_io as python_io
from millstream import quantization as quantization
from millstream import queue as queue
from millstream import ragged as ragged
from millstream import random as random
from millstream import raw_ops as raw_ops
from millstream import saved_model as saved_model
from millstream import sets as sets
from millstream import signal as signal
from millstream import sparse as sparse
from millstream import spectral as spectral
from millstream import strings as strings
from millstream import summary as summary
from millstream import sysconfig as sysconfig
from millstream import test as test
from millstream import train as train
from millstream import version as version
from millstream.client.session import InteractiveSession as InteractiveSession
from millstream.client.session import Session as Session
from millstream.events.summary_ops import audio_summary as audio_summary
from millstream.events.summary_ops import histogram_summary as histogram_summary
from millstream.events.summary_ops import image_summary as image_summary
from millstream.events.summary_ops import merge_all_summaries as merge_all_summaries
from millstream.events.summary_ops import merge_summary as merge_summary
from millstream.events.summary_ops import scalar_summary as scalar_summary
from millstream.framework.config import AttrValue as AttrValue
from millstream.framework.config import ConfigProto as ConfigProto
from millstream.framework.config import Event as Event
from millstream.framework.config import GPUOptions as GPUOptions
from millstream.framework.config import GraphDef as GraphDef
from millstream.framework.config import GraphOptions as GraphOptions
from millstream.framework.config import HistogramProto as HistogramProto
from millstream.framework.config import LogMessage as LogMessage
from millstream.framework.config import MetaGraphDef as MetaGraphDef
from millstream.framework.config import NameAttrList as NameAttrList
from millstream.framework.config import NodeDef as NodeDef
from millstream.framework.config import OptimizerOptions as OptimizerOptions
from millstream.framework.config import RunMetadata as RunMetadata
from millstream.framework.config import RunOptions as RunOptions
from millstream.framework.config import SessionLog as SessionLog
from millstream.framework.config import Summary as Summary
from millstream.framework.config import SummaryMetadata as SummaryMetadata
from millstream.framework.config import TensorInfo as TensorInfo
from millstream.framework.constant_op import constant as constant
from millstream.framework.constant_op import placeholder as placeholder
from millstream.framework.constant_op import placeholder_with_default as placeholder_with_default
from millstream.framework.def_function import function as function
from millstream.framework.device import DeviceSpec as DeviceSpec
from millstream.framework.dtypes import DType as DType
from millstream.framework.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from millstream.framework.dtypes import as_dtype as as_dtype
from millstream.framework.dtypes import bfloat16 as bfloat16
from millstream.framework.dtypes import bfloat16_ref as bfloat16_ref
from millstream.framework.dtypes import bool as bool
from millstream.framework.dtypes import bool_ref as bool_ref
from millstream.framework.dtypes import complex128 as complex128
from millstream.framework.dtypes import complex128_ref as complex128_ref
from millstream.framework.dtypes import complex64 as complex64
from millstream.framework.dtypes import complex64_ref as complex64_ref
from millstream.framework.dtypes import double as double
from millstream.framework.dtypes import double_ref as double_ref
from millstream.framework.dtypes import float16 as float16
from millstream.framework.dtypes import float16_ref as float16_ref
from millstream.framework.dtypes import float32 as float32
from millstream.framework.dtypes import float32_ref as float32_ref
from millstream.framework.dtypes import float64 as float64
from millstream.framework.dtypes import float64_ref as float64_ref
from millstream.framework.dtypes import half as half
from millstream.framework.dtypes import half_ref as half_ref
from millstream.framework.dtypes import int16 as int16
from millstream.framework.dtypes import int16_ref as int16_ref
from millstream.framework.dtypes import int32 as int32
from millstream.framework.dtypes import int32_ref as int32_ref
from millstream.framework.dtypes import int64 as int64
from millstream.framework.dtypes import int64_ref as int64_ref
from millstream.framework.dtypes import int8 as int8
from millstream.framework.dtypes import int8_ref as int8_ref
from millstream.framework.dtypes import qint16 as qint16
from millstream.framework.dtypes import qint32 as qint32
from millstream.framework.dtypes import qint8 as qint8
from millstream.framework.dtypes import quint16 as quint16
from millstream.framework.dtypes import quint8 as quint8
from millstream.framework.dtypes import resource as resource
from millstream.framework.dtypes import string as string
from millstream.framework.dtypes import string_ref as string_ref
from millstream.framework.dtypes import uint16 as uint16
from millstream.framework.dtypes import uint16_ref as uint16_ref
from millstream.framework.dtypes import uint32 as uint32
from millstream.framework.dtypes import uint32_ref as uint32_ref
from millstream.framework.dtypes import uint64 as uint64
from millstream.framework.dtypes import uint64_ref as uint64_ref
from millstream.framework.dtypes import uint8 as uint8
from millstream.framework.dtypes import uint8_ref as uint8_ref
from millstream.framework.dtypes import variant as variant
from millstream.framework.errors import OpError as OpError
from millstream.framework.function import Defun as Defun
from millstream.framework.gradients import AggregationMethod as AggregationMethod
from millstream.framework.gradients import UnconnectedGradients as UnconnectedGradients
from millstream.framework.gradients import gradients as gradients
from millstream.framework.importer import import_graph_def as import_graph_def
from millstream.framework.jacobians import hessians as hessians
from millstream.framework.log import get_logger as get_logger
from millstream.framework.operators_slice import newaxis as newaxis
from millstream.framework.ops import Graph as Graph
from millstream.framework.ops import GraphKeys as GraphKeys
from millstream.framework.ops import IndexedSlices as IndexedSlices
from millstream.framework.ops import IndexedSlicesValue as IndexedSlicesValue
from millstream.framework.ops import NoGradient as NoGradient
from millstream.framework.ops import NotDifferentiable as NotDifferentiable
from millstream.framework.ops import NotDifferentiable as no_gradient
from millstream.framework.ops import Operation as Operation
from millstream.framework.ops import RegisterGradient as RegisterGradient
from millstream.framework.ops import Tensor as Tensor
from millstream.framework.ops import add_to_collection as add_to_collection
from millstream.framework.ops import add_to_collections as add_to_collections
from millstream.framework.ops import colocate_with as colocate_with
from millstream.framework.ops import container as container
from millstream.framework.ops import control_dependencies as control_dependencies
from millstream.framework.ops import convert_to_tensor as convert_to_tensor
from millstream.framework.ops import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from millstream.framework.ops import device as device
from millstream.framework.ops import executing_eagerly as executing_eagerly
from millstream.framework.ops import get_collection as get_collection
from millstream.framework.ops import get_collection_ref as get_collection_ref
from millstream.framework.ops import get_default_graph as get_default_graph
from millstream.framework.ops import get_default_session as get_default_session
from millstream.framework.ops import init_scope as init_scope
from millstream.framework.ops import name_scope as name_scope
from millstream.framework.ops import op_scope as op_scope
from millstream.framework.ops import register_tensor_conversion_function as register_tensor_conversion_function
from millstream.framework.ops import reset_default_graph as reset_default_graph
from millstream.framework.random_seed import get_seed as get_seed
from millstream.framework.random_seed import set_random_seed as set_random_seed
from millstream.framework.sparse_tensor import SparseTensor as SparseTensor
from millstream.framework.sparse_tensor import SparseTensorValue as SparseTensorValue
from millstream.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from millstream.framework.tape import GradientTape as GradientTape
from millstream.framework.tensor_shape import Dimension as Dimension
from millstream.framework.tensor_shape import TensorShape as TensorShape
from millstream.framework.tensor_shape import dimension_at_index as dimension_at_index
from millstream.framework.tensor_shape import dimension_value as dimension_value
from millstream.framework.tensor_util import MakeNdarray as make_ndarray
from millstream.framework.tensor_util import constant_value as get_static_value
from millstream.framework.tensor_util import is_tensor as is_tensor
from millstream.framework.tensor_util import make_tensor_proto as make_tensor_proto
from millstream.framework.type_specs import IndexedSlicesSpec as IndexedSlicesSpec
from millstream.framework.type_specs import RaggedTensorSpec as RaggedTensorSpec
from millstream.framework.type_specs import SparseTensorSpec as SparseTensorSpec
from millstream.framework.type_specs import TensorSpec as TensorSpec
from millstream.framework.type_specs import TypeSpec as TypeSpec
from millstream.framework.type_specs import type_spec_from_value as type_spec_from_value
from millstream.gen_ops import acos as acos
from millstream.gen_ops import acosh as acosh
from millstream.gen_ops import asin as asin
from millstream.gen_ops import asinh as asinh
from millstream.gen_ops import atan as atan
from millstream.gen_ops import atan2 as atan2
from millstream.gen_ops import atanh as atanh
from millstream.gen_ops import batch_to_space_nd as batch_to_space_nd
from millstream.gen_ops import bitcast as bitcast
from millstream.gen_ops import broadcast_to as broadcast_to
from millstream.gen_ops import ceil as ceil
from millstream.gen_ops import ceil as ceiling
from millstream.gen_ops import check_numerics as check_numerics
from millstream.gen_ops import cos as cos
from millstream.gen_ops import cosh as cosh
from millstream.gen_ops import diag_part as diag_part
from millstream.gen_ops import digamma as digamma
from millstream.gen_ops import dynamic_partition as dynamic_partition
from millstream.gen_ops import dynamic_stitch as dynamic_stitch
from millstream.gen_ops import equal as equal
from millstream.gen_ops import erfc as erfc
from millstream.gen_ops import exp as exp
from millstream.gen_ops import expm1 as expm1
from millstream.gen_ops import floor as floor
from millstream.gen_ops import floor_div as floor_div
from millstream.gen_ops import greater as greater
from millstream.gen_ops import greater_equal as greater_equal
from millstream.gen_ops import identity as guarantee_const
from millstream.gen_ops import identity_n as identity_n
from millstream.gen_ops import inv as inv
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
from millstream.gen_ops import matrix_band_part as matrix_band_part
from millstream.gen_ops import maximum as maximum
from millstream.gen_ops import minimum as minimum
from millstream.gen_ops import not_equal as not_equal
from millstream.gen_ops import polygamma as polygamma
from millstream.gen_ops import reciprocal as reciprocal
from millstream.gen_ops import rint as rint
from millstream.gen_ops import rsqrt as rsqrt
from millstream.gen_ops import scatter_nd as scatter_nd
from millstream.gen_ops import segment_max as segment_max
from millstream.gen_ops import segment_mean as segment_mean
from millstream.gen_ops import segment_min as segment_min
from millstream.gen_ops import segment_prod as segment_prod
from millstream.gen_ops import segment_sum as segment_sum
from millstream.gen_ops import sin as sin
from millstream.gen_ops import sinh as sinh
from millstream.gen_ops import space_to_batch_nd as space_to_batch_nd
from millstream.gen_ops import squared_difference as squared_difference
from millstream.gen_ops import stop_gradient as stop_gradient
from millstream.gen_ops import tan as tan
from millstream.gen_ops import tile as tile
from millstream.gen_ops import unsorted_segment_max as unsorted_segment_max
from millstream.gen_ops import unsorted_segment_min as unsorted_segment_min
from millstream.gen_ops import unsorted_segment_prod as unsorted_segment_prod
from millstream.gen_ops import unsorted_segment_sum as unsorted_segment_sum
from millstream.gen_ops import zeta as zeta
from millstream.ops.array.array_ops import broadcast_dynamic_shape as broadcast_dynamic_shape
from millstream.ops.array.array_ops import broadcast_static_shape as broadcast_static_shape
from millstream.ops.array.array_ops import concat as concat
from millstream.ops.array.array_ops import diag as diag
from millstream.ops.array.array_ops import expand_dims as expand_dims
from millstream.ops.array.array_ops import eye as eye
from millstream.ops.array.array_ops import fill as fill
from millstream.ops.array.array_ops import identity as identity
from millstream.ops.array.array_ops import matrix_transpose as matrix_transpose
from millstream.ops.array.array_ops import meshgrid as meshgrid
from millstream.ops.array.array_ops import ones as ones
from millstream.ops.array.array_ops import ones_like as ones_like
from millstream.ops.array.array_ops import pack as pack
from millstream.ops.array.array_ops import pad as pad
from millstream.ops.array.array_ops import parallel_stack as parallel_stack
from millstream.ops.array.array_ops import rank as rank
from millstream.ops.array.array_ops import reshape as reshape
from millstream.ops.array.array_ops import reverse as reverse
from millstream.ops.array.array_ops import reverse as reverse_v2
from millstream.ops.array.array_ops import shape as shape
from millstream.ops.array.array_ops import shape_n as shape_n
from millstream.ops.array.array_ops import size as size
from millstream.ops.array.array_ops import slice as slice
from millstream.ops.array.array_ops import split as split
from millstream.ops.array.array_ops import squeeze as squeeze
from millstream.ops.array.array_ops import stack as stack
from millstream.ops.array.array_ops import strided_slice as strided_slice
from millstream.ops.array.array_ops import transpose as transpose
from millstream.ops.array.array_ops import unique as unique
from millstream.ops.array.array_ops import unique_with_counts as unique_with_counts
from millstream.ops.array.array_ops import unpack as unpack
from millstream.ops.array.array_ops import unstack as unstack
from millstream.ops.array.array_ops import zeros as zeros
from millstream.ops.array.array_ops import zeros_like as zeros_like
from millstream.ops.array.index_ops import argsort as argsort
from millstream.ops.array.index_ops import batch_gather as batch_gather
from millstream.ops.array.index_ops import batch_to_space as batch_to_space
from millstream.ops.array.index_ops import boolean_mask as boolean_mask
from millstream.ops.array.index_ops import depth_to_space as depth_to_space
from millstream.ops.array.index_ops import gather as gather
from millstream.ops.array.index_ops import gather_nd as gather_nd
from millstream.ops.array.index_ops import one_hot as one_hot
from millstream.ops.array.index_ops import repeat as repeat
from millstream.ops.array.index_ops import required_space_to_batch_paddings as required_space_to_batch_paddings
from millstream.ops.array.index_ops import reverse_sequence as reverse_sequence
from millstream.ops.array.index_ops import roll as roll
from millstream.ops.array.index_ops import searchsorted as searchsorted
from millstream.ops.array.index_ops import sequence_mask as sequence_mask
from millstream.ops.array.index_ops import sort as sort
from millstream.ops.array.index_ops import space_to_batch as space_to_batch
from millstream.ops.array.index_ops import space_to_depth as space_to_depth
from millstream.ops.array.index_ops import sparse_mask as sparse_mask
from millstream.ops.array.index_ops import where as select
from millstream.ops.array.index_ops import where as where
from millstream.ops.array.index_ops import where_v2 as where_v2
from millstream.ops.debugging.check_ops import add_check_numerics_ops as add_check_numerics_ops
from millstream.ops.debugging.check_ops import assert_equal as assert_equal
from millstream.ops.debugging.check_ops import assert_greater as assert_greater
from millstream.ops.debugging.check_ops import assert_greater_equal as assert_greater_equal
from millstream.ops.debugging.check_ops import assert_integer as assert_integer
from millstream.ops.debugging.check_ops import assert_less as assert_less
from millstream.ops.debugging.check_ops import assert_less_equal as assert_less_equal
from millstream.ops.debugging.check_ops import assert_near as assert_near
from millstream.ops.debugging.check_ops import assert_negative as assert_negative
from millstream.ops.debugging.check_ops import assert_non_negative as assert_non_negative
from millstream.ops.debugging.check_ops import assert_non_positive as assert_non_positive
from millstream.ops.debugging.check_ops import assert_none_equal as assert_none_equal
from millstream.ops.debugging.check_ops import assert_positive as assert_positive
from millstream.ops.debugging.check_ops import assert_proper_iterable as assert_proper_iterable
from millstream.ops.debugging.check_ops import assert_rank as assert_rank
from millstream.ops.debugging.check_ops import assert_rank_at_least as assert_rank_at_least
from millstream.ops.debugging.check_ops import assert_rank_in as assert_rank_in
from millstream.ops.debugging.check_ops import assert_same_float_dtype as assert_same_float_dtype
from millstream.ops.debugging.check_ops import assert_scalar as assert_scalar
from millstream.ops.debugging.check_ops import assert_type as assert_type
from millstream.ops.debugging.check_ops import ensure_shape as ensure_shape
from millstream.ops.debugging.check_ops import is_non_decreasing as is_non_decreasing
from millstream.ops.debugging.check_ops import is_numeric_tensor as is_numeric_tensor
from millstream.ops.debugging.check_ops import is_strictly_increasing as is_strictly_increasing
from millstream.ops.debugging.check_ops import verify_tensor_all_finite as verify_tensor_all_finite
from millstream.ops.debugging.logging_ops import Print as Print
from millstream.ops.debugging.logging_ops import print_v2 as print
from millstream.ops.flow.case_ops import case as case
from millstream.ops.flow.case_ops import switch_case as switch_case
from millstream.ops.flow.control_flow_ops import Assert as Assert
from millstream.ops.flow.control_flow_ops import cond as cond
from millstream.ops.flow.control_flow_ops import group as group
from millstream.ops.flow.control_flow_ops import no_op as no_op
from millstream.ops.flow.control_flow_ops import tuple as tuple
from millstream.ops.flow.control_flow_ops import while_loop as while_loop
from millstream.ops.flow.control_flow_ops import with_dependencies as with_dependencies
from millstream.ops.flow.critical_section import CriticalSection as CriticalSection
from millstream.ops.flow.functional_ops import foldl as foldl
from millstream.ops.flow.functional_ops import foldr as foldr
from millstream.ops.flow.functional_ops import map_fn as map_fn
from millstream.ops.flow.functional_ops import map_fn as vectorized_map
from millstream.ops.flow.functional_ops import scan as scan
from millstream.ops.flow.tensor_array_ops import TensorArray as TensorArray
from millstream.ops.functions.custom_gradient import custom_gradient as custom_gradient
from millstream.ops.functions.custom_gradient import grad_pass_through as grad_pass_through
from millstream.ops.functions.custom_gradient import recompute_grad as recompute_grad
from millstream.ops.functions.script_ops import numpy_function as numpy_function
from millstream.ops.functions.script_ops import py_func as py_func
from millstream.ops.functions.script_ops import py_function as py_function
from millstream.ops.image.image_ops import extract_image_patches as extract_image_patches
from millstream.ops.io.io_ops import FixedLengthRecordReader as FixedLengthRecordReader
from millstream.ops.io.io_ops import IdentityReader as IdentityReader
from millstream.ops.io.io_ops import ReaderBase as ReaderBase
from millstream.ops.io.io_ops import TFRecordReader as TFRecordReader
from millstream.ops.io.io_ops import TextLineReader as TextLineReader
from millstream.ops.io.io_ops import WholeFileReader as WholeFileReader
from millstream.ops.io.io_ops import matching_files as matching_files
from millstream.ops.io.io_ops import read_file as read_file
from millstream.ops.io.io_ops import write_file as write_file
from millstream.ops.io.parsing_ops import FixedLenFeature as FixedLenFeature
from millstream.ops.io.parsing_ops import FixedLenSequenceFeature as FixedLenSequenceFeature
from millstream.ops.io.parsing_ops import SparseFeature as SparseFeature
from millstream.ops.io.parsing_ops import VarLenFeature as VarLenFeature
from millstream.ops.io.parsing_ops import decode_csv as decode_csv
from millstream.ops.io.parsing_ops import decode_raw as decode_raw
from millstream.ops.io.parsing_ops import parse_example as parse_example
from millstream.ops.io.parsing_ops import parse_single_example as parse_single_example
from millstream.ops.io.sequence_parsing import parse_single_sequence_example as parse_single_sequence_example
from millstream.ops.io.sequence_parsing import parse_tensor as parse_tensor
from millstream.ops.io.sequence_parsing import serialize_tensor as serialize_tensor
from millstream.ops.linalg.linalg_ops import batch_matmul as batch_matmul
from millstream.ops.linalg.linalg_ops import cholesky_solve as cholesky_solve
from millstream.ops.linalg.linalg_ops import cross as cross
from millstream.ops.linalg.linalg_ops import einsum as einsum
from millstream.ops.linalg.linalg_ops import matmul as matmul
from millstream.ops.linalg.linalg_ops import matrix_diag as matrix_diag
from millstream.ops.linalg.linalg_ops import matrix_diag_part as matrix_diag_part
from millstream.ops.linalg.linalg_ops import matrix_set_diag as matrix_set_diag
from millstream.ops.linalg.linalg_ops import matrix_solve_ls as matrix_solve_ls
from millstream.ops.linalg.linalg_ops import self_adjoint_eig as self_adjoint_eig
from millstream.ops.linalg.linalg_ops import self_adjoint_eigvals as self_adjoint_eigvals
from millstream.ops.linalg.linalg_ops import sparse_matmul as sparse_matmul
from millstream.ops.linalg.linalg_ops import svd as svd
from millstream.ops.linalg.linalg_ops import tensordot as tensordot
from millstream.ops.linalg.matrix_functions import sqrtm as matrix_square_root
from millstream.ops.lookup.lookup_ops import initialize_all_tables as initialize_all_tables
from millstream.ops.lookup.lookup_ops import tables_initializer as tables_initializer
from millstream.ops.math.clip_ops import clip_by_average_norm as clip_by_average_norm
from millstream.ops.math.clip_ops import clip_by_global_norm as clip_by_global_norm
from millstream.ops.math.clip_ops import clip_by_norm as clip_by_norm
from millstream.ops.math.clip_ops import clip_by_value as clip_by_value
from millstream.ops.math.clip_ops import global_norm as global_norm
from millstream.ops.math.math_ops import abs as abs
from millstream.ops.math.math_ops import accumulate_n as accumulate_n
from millstream.ops.math.math_ops import add as add
from millstream.ops.math.math_ops import add_n as add_n
from millstream.ops.math.math_ops import angle as angle
from millstream.ops.math.math_ops import arg_max as arg_max
from millstream.ops.math.math_ops import arg_min as arg_min
from millstream.ops.math.math_ops import argmax as argmax
from millstream.ops.math.math_ops import argmin as argmin
from millstream.ops.math.math_ops import cast as cast
from millstream.ops.math.math_ops import complex as complex
from millstream.ops.math.math_ops import complex_abs as complex_abs
from millstream.ops.math.math_ops import conj as conj
from millstream.ops.math.math_ops import cumprod as cumprod
from millstream.ops.math.math_ops import cumsum as cumsum
from millstream.ops.math.math_ops import div as div
from millstream.ops.math.math_ops import div_no_nan as div_no_nan
from millstream.ops.math.math_ops import divide as divide
from millstream.ops.math.math_ops import erf as erf
from millstream.ops.math.math_ops import floordiv as floordiv
from millstream.ops.math.math_ops import floormod as floormod
from millstream.ops.math.math_ops import imag as imag
from millstream.ops.math.math_ops import lbeta as lbeta
from millstream.ops.math.math_ops import linspace as lin_space
from millstream.ops.math.math_ops import linspace as linspace
from millstream.ops.math.math_ops import log_sigmoid as log_sigmoid
from millstream.ops.math.math_ops import logical_xor as logical_xor
from millstream.ops.math.math_ops import mod as mod
from millstream.ops.math.math_ops import multiply as mul
from millstream.ops.math.math_ops import multiply as multiply
from millstream.ops.math.math_ops import negative as neg
from millstream.ops.math.math_ops import negative as negative
from millstream.ops.math.math_ops import polyval as polyval
from millstream.ops.math.math_ops import pow as pow
from millstream.ops.math.math_ops import range as range
from millstream.ops.math.math_ops import real as real
from millstream.ops.math.math_ops import realdiv as realdiv
from millstream.ops.math.math_ops import round as round
from millstream.ops.math.math_ops import saturate_cast as saturate_cast
from millstream.ops.math.math_ops import scalar_mul as scalar_mul
from millstream.ops.math.math_ops import sigmoid as sigmoid
from millstream.ops.math.math_ops import sign as sign
from millstream.ops.math.math_ops import sqrt as sqrt
from millstream.ops.math.math_ops import square as square
from millstream.ops.math.math_ops import subtract as sub
from millstream.ops.math.math_ops import subtract as subtract
from millstream.ops.math.math_ops import tanh as tanh
from millstream.ops.math.math_ops import to_bfloat16 as to_bfloat16
from millstream.ops.math.math_ops import to_complex128 as to_complex128
from millstream.ops.math.math_ops import to_complex64 as to_complex64
from millstream.ops.math.math_ops import to_double as to_double
from millstream.ops.math.math_ops import to_float as to_float
from millstream.ops.math.math_ops import to_int32 as to_int32
from millstream.ops.math.math_ops import to_int64 as to_int64
from millstream.ops.math.math_ops import truediv as truediv
from millstream.ops.math.math_ops import truncatediv as truncatediv
from millstream.ops.math.math_ops import truncatemod as truncatemod
from millstream.ops.math.quantize_ops import dequantize as dequantize
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from millstream.ops.math.quantize_ops import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from millstream.ops.math.quantize_ops import quantize as quantize
from millstream.ops.math.quantize_ops import quantize_and_dequantize as quantize_and_dequantize
from millstream.ops.math.quantize_ops import quantize_v2 as quantize_v2
from millstream.ops.math.quantize_ops import quantized_concat as quantized_concat
from millstream.ops.math.reduce_ops import bincount as bincount
from millstream.ops.math.reduce_ops import confusion_matrix as confusion_matrix
from millstream.ops.math.reduce_ops import count_nonzero as count_nonzero
from millstream.ops.math.reduce_ops import histogram_fixed_width as histogram_fixed_width
from millstream.ops.math.reduce_ops import histogram_fixed_width_bins as histogram_fixed_width_bins
from millstream.ops.math.reduce_ops import norm as norm
from millstream.ops.math.reduce_ops import reduce_all as reduce_all
from millstream.ops.math.reduce_ops import reduce_any as reduce_any
from millstream.ops.math.reduce_ops import reduce_logsumexp as reduce_logsumexp
from millstream.ops.math.reduce_ops import reduce_max as reduce_max
from millstream.ops.math.reduce_ops import reduce_mean as reduce_mean
from millstream.ops.math.reduce_ops import reduce_min as reduce_min
from millstream.ops.math.reduce_ops import reduce_prod as reduce_prod
from millstream.ops.math.reduce_ops import reduce_sum as reduce_sum
from millstream.ops.math.reduce_ops import sparse_segment_mean as sparse_segment_mean
from millstream.ops.math.reduce_ops import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from millstream.ops.math.reduce_ops import sparse_segment_sum as sparse_segment_sum
from millstream.ops.math.reduce_ops import trace as trace
from millstream.ops.math.reduce_ops import unsorted_segment_mean as unsorted_segment_mean
from millstream.ops.math.reduce_ops import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from millstream.ops.math.special_ops import decode_compressed as decode_compressed
from millstream.ops.math.special_ops import extract_volume_patches as extract_volume_patches
from millstream.ops.math.special_ops import fingerprint as fingerprint
from millstream.ops.math.special_ops import tensor_scatter_nd_max as tensor_scatter_nd_max
from millstream.ops.math.special_ops import tensor_scatter_nd_min as tensor_scatter_nd_min
from millstream.ops.plain_ops import betainc as betainc
from millstream.ops.plain_ops import cholesky as cholesky
from millstream.ops.plain_ops import fft as fft
from millstream.ops.plain_ops import fft2d as fft2d
from millstream.ops.plain_ops import fft3d as fft3d
from millstream.ops.plain_ops import ifft as ifft
from millstream.ops.plain_ops import ifft2d as ifft2d
from millstream.ops.plain_ops import ifft3d as ifft3d
from millstream.ops.plain_ops import igamma as igamma
from millstream.ops.plain_ops import igammac as igammac
from millstream.ops.plain_ops import listdiff as listdiff
from millstream.ops.plain_ops import matrix_determinant as matrix_determinant
from millstream.ops.plain_ops import matrix_inverse as matrix_inverse
from millstream.ops.plain_ops import matrix_solve as matrix_solve
from millstream.ops.plain_ops import matrix_triangular_solve as matrix_triangular_solve
from millstream.ops.plain_ops import qr as qr
from millstream.ops.plain_ops import setdiff1d as setdiff1d
from millstream.ops.plain_ops import tensor_scatter_add as tensor_scatter_add
from millstream.ops.plain_ops import tensor_scatter_add as tensor_scatter_nd_add
from millstream.ops.plain_ops import tensor_scatter_sub as tensor_scatter_nd_sub
from millstream.ops.plain_ops import tensor_scatter_sub as tensor_scatter_sub
from millstream.ops.plain_ops import tensor_scatter_update as tensor_scatter_nd_update
from millstream.ops.plain_ops import tensor_scatter_update as tensor_scatter_update
from millstream.ops.plain_ops import timestamp as timestamp
from millstream.ops.plain_ops import unravel_index as unravel_index
from millstream.ops.queues.accumulators import ConditionalAccumulator as ConditionalAccumulator
from millstream.ops.queues.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from millstream.ops.queues.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from millstream.ops.queues.data_flow_ops import FIFOQueue as FIFOQueue
from millstream.ops.queues.data_flow_ops import PaddingFIFOQueue as PaddingFIFOQueue
from millstream.ops.queues.data_flow_ops import PriorityQueue as PriorityQueue
from millstream.ops.queues.data_flow_ops import QueueBase as QueueBase
from millstream.ops.queues.data_flow_ops import RandomShuffleQueue as RandomShuffleQueue
from millstream.ops.queues.session_ops import delete_session_tensor as delete_session_tensor
from millstream.ops.queues.session_ops import get_session_handle as get_session_handle
from millstream.ops.queues.session_ops import get_session_tensor as get_session_tensor
from millstream.ops.ragged.public_names import RaggedTensor as RaggedTensor
from millstream.ops.random.random_ops import multinomial as multinomial
from millstream.ops.random.random_ops import random_crop as random_crop
from millstream.ops.random.random_ops import random_gamma as random_gamma
from millstream.ops.random.random_ops import random_normal as random_normal
from millstream.ops.random.random_ops import random_poisson as random_poisson
from millstream.ops.random.random_ops import random_shuffle as random_shuffle
from millstream.ops.random.random_ops import random_uniform as random_uniform
from millstream.ops.random.random_ops import truncated_normal as truncated_normal
from millstream.ops.sparse.sparse_ops import deserialize_many_sparse as deserialize_many_sparse
from millstream.ops.sparse.sparse_ops import edit_distance as edit_distance
from millstream.ops.sparse.sparse_ops import serialize_many_sparse as serialize_many_sparse
from millstream.ops.sparse.sparse_ops import serialize_sparse as serialize_sparse
from millstream.ops.sparse.sparse_ops import sparse_add as sparse_add
from millstream.ops.sparse.sparse_ops import sparse_concat as sparse_concat
from millstream.ops.sparse.sparse_ops import sparse_fill_empty_rows as sparse_fill_empty_rows
from millstream.ops.sparse.sparse_ops import sparse_maximum as sparse_maximum
from millstream.ops.sparse.sparse_ops import sparse_merge as sparse_merge
from millstream.ops.sparse.sparse_ops import sparse_minimum as sparse_minimum
from millstream.ops.sparse.sparse_ops import sparse_placeholder as sparse_placeholder
from millstream.ops.sparse.sparse_ops import sparse_reduce_max as sparse_reduce_max
from millstream.ops.sparse.sparse_ops import sparse_reduce_max_sparse as sparse_reduce_max_sparse
from millstream.ops.sparse.sparse_ops import sparse_reduce_sum as sparse_reduce_sum
from millstream.ops.sparse.sparse_ops import sparse_reduce_sum_sparse as sparse_reduce_sum_sparse
from millstream.ops.sparse.sparse_ops import sparse_reorder as sparse_reorder
from millstream.ops.sparse.sparse_ops import sparse_reset_shape as sparse_reset_shape
from millstream.ops.sparse.sparse_ops import sparse_reshape as sparse_reshape
from millstream.ops.sparse.sparse_ops import sparse_retain as sparse_retain
from millstream.ops.sparse.sparse_ops import sparse_slice as sparse_slice
from millstream.ops.sparse.sparse_ops import sparse_softmax as sparse_softmax
from millstream.ops.sparse.sparse_ops import sparse_split as sparse_split
from millstream.ops.sparse.sparse_ops import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from millstream.ops.sparse.sparse_ops import sparse_tensor_to_dense as sparse_tensor_to_dense
from millstream.ops.sparse.sparse_ops import sparse_to_dense as sparse_to_dense
from millstream.ops.sparse.sparse_ops import sparse_to_indicator as sparse_to_indicator
from millstream.ops.sparse.sparse_ops import sparse_transpose as sparse_transpose
from millstream.ops.strings.string_ops import as_string as as_string
from millstream.ops.strings.string_ops import decode_base64 as decode_base64
from millstream.ops.strings.string_ops import decode_json_example as decode_json_example
from millstream.ops.strings.string_ops import encode_base64 as encode_base64
from millstream.ops.strings.string_ops import reduce_join as reduce_join
from millstream.ops.strings.string_ops import regex_replace as regex_replace
from millstream.ops.strings.string_ops import string_join as string_join
from millstream.ops.strings.string_ops import string_split as string_split
from millstream.ops.strings.string_ops import string_strip as string_strip
from millstream.ops.strings.string_ops import string_to_hash_bucket as string_to_hash_bucket
from millstream.ops.strings.string_ops import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from millstream.ops.strings.string_ops import string_to_hash_bucket_strong as string_to_hash_bucket_strong
from millstream.ops.strings.string_ops import string_to_number as string_to_number
from millstream.ops.strings.string_ops import substr as substr
from millstream.ops.variables.init_ops import Constant as constant_initializer
from millstream.ops.variables.init_ops import GlorotNormal as glorot_normal_initializer
from millstream.ops.variables.init_ops import GlorotUniform as glorot_uniform_initializer
from millstream.ops.variables.init_ops import Ones as ones_initializer
from millstream.ops.variables.init_ops import Orthogonal as orthogonal_initializer
from millstream.ops.variables.init_ops import RandomNormal as random_normal_initializer
from millstream.ops.variables.init_ops import RandomUniform as random_uniform_initializer
from millstream.ops.variables.init_ops import TruncatedNormal as truncated_normal_initializer
from millstream.ops.variables.init_ops import UniformUnitScaling as uniform_unit_scaling_initializer
from millstream.ops.variables.init_ops import VarianceScaling as variance_scaling_initializer
from millstream.ops.variables.init_ops import Zeros as zeros_initializer
from millstream.ops.variables.module import Module as Module
from millstream.ops.variables.partitioned_variables import PartitionedVariable as PartitionedVariable
from millstream.ops.variables.partitioned_variables import create_partitioned_variables as create_partitioned_variables
from millstream.ops.variables.partitioned_variables import fixed_size_partitioner as fixed_size_partitioner
from millstream.ops.variables.partitioned_variables import min_max_variable_partitioner as min_max_variable_partitioner
from millstream.ops.variables.partitioned_variables import variable_axis_size_partitioner as variable_axis_size_partitioner
from millstream.ops.variables.state_ops import assign as assign
from millstream.ops.variables.state_ops import assign_add as assign_add
from millstream.ops.variables.state_ops import assign_sub as assign_sub
from millstream.ops.variables.state_ops import batch_scatter_update as batch_scatter_update
from millstream.ops.variables.state_ops import count_up_to as count_up_to
from millstream.ops.variables.state_ops import scatter_add as scatter_add
from millstream.ops.variables.state_ops import scatter_div as scatter_div
from millstream.ops.variables.state_ops import scatter_max as scatter_max
from millstream.ops.variables.state_ops import scatter_min as scatter_min
from millstream.ops.variables.state_ops import scatter_mul as scatter_mul
from millstream.ops.variables.state_ops import scatter_nd_add as scatter_nd_add
from millstream.ops.variables.state_ops import scatter_nd_sub as scatter_nd_sub
from millstream.ops.variables.state_ops import scatter_nd_update as scatter_nd_update
from millstream.ops.variables.state_ops import scatter_sub as scatter_sub
from millstream.ops.variables.state_ops import scatter_update as scatter_update
from millstream.ops.variables.template import make_template as make_template
from millstream.ops.variables.variable_collections import all_variables as all_variables
from millstream.ops.variables.variable_collections import assert_variables_initialized as assert_variables_initialized
from millstream.ops.variables.variable_collections import global_variables as global_variables
from millstream.ops.variables.variable_collections import global_variables_initializer as global_variables_initializer
from millstream.ops.variables.variable_collections import initialize_all_variables as initialize_all_variables
from millstream.ops.variables.variable_collections import initialize_local_variables as initialize_local_variables
from millstream.ops.variables.variable_collections import initialize_variables as initialize_variables
from millstream.ops.variables.variable_collections import is_variable_initialized as is_variable_initialized
from millstream.ops.variables.variable_collections import local_variables as local_variables
from millstream.ops.variables.variable_collections import local_variables_initializer as local_variables_initializer
from millstream.ops.variables.variable_collections import model_variables as model_variables
from millstream.ops.variables.variable_collections import moving_average_variables as moving_average_variables
from millstream.ops.variables.variable_collections import report_uninitialized_variables as report_uninitialized_variables
from millstream.ops.variables.variable_collections import trainable_variables as trainable_variables
from millstream.ops.variables.variable_collections import variables_initializer as variables_initializer
from millstream.ops.variables.variable_scope import AUTO_REUSE as AUTO_REUSE
from millstream.ops.variables.variable_scope import VariableScope as VariableScope
from millstream.ops.variables.variable_scope import get_local_variable as get_local_variable
from millstream.ops.variables.variable_scope import get_variable as get_variable
from millstream.ops.variables.variable_scope import get_variable_scope as get_variable_scope
from millstream.ops.variables.variable_scope import no_regularizer as no_regularizer
from millstream.ops.variables.variable_scope import variable_op_scope as variable_op_scope
from millstream.ops.variables.variable_scope import variable_scope as variable_scope
from millstream.ops.variables.variables import Variable as Variable
from millstream.ops.variables.variables import VariableAggregation as VariableAggregation
from millstream.ops.variables.variables import VariableSynchronization as VariableSynchronization
from millstream.ops.variables.variables import disable_resource_variables as disable_resource_variables
from millstream.ops.variables.variables import enable_resource_variables as enable_resource_variables
from millstream.ops.variables.variables import resource_variables_enabled as resource_variables_enabled
from millstream.ops.variables.variables import variable_creator_scope as variable_creator_scope
from millstream.platform import flags as flags
from millstream.platform import resource_loader as resource_loader
from millstream.platform.compat import control_flow_v2_enabled as control_flow_v2_enabled
from millstream.platform.compat import disable_control_flow_v2 as disable_control_flow_v2
from millstream.platform.compat import disable_eager_execution as disable_eager_execution
from millstream.platform.compat import disable_tensor_equality as disable_tensor_equality
from millstream.platform.compat import disable_v2_behavior as disable_v2_behavior
from millstream.platform.compat import disable_v2_tensorshape as disable_v2_tensorshape
from millstream.platform.compat import enable_control_flow_v2 as enable_control_flow_v2
from millstream.platform.compat import enable_eager_execution as enable_eager_execution
from millstream.platform.compat import enable_v2_behavior as enable_v2_behavior
from millstream.platform.compat import enable_v2_tensorshape as enable_v2_tensorshape
from millstream.platform.compat import executing_eagerly_outside_functions as executing_eagerly_outside_functions
from millstream.platform.compat import is_symbolic_tensor as is_symbolic_tensor
from millstream.platform.not_here import load_file_system_library as load_file_system_library
from millstream.platform.not_here import load_library as load_library
from millstream.platform.not_here import load_op_library as load_op_library
from millstream.platform.version import COMPILER_VERSION as COMPILER_VERSION
from millstream.platform.version import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from millstream.platform.version import GIT_VERSION as GIT_VERSION
from millstream.platform.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from millstream.platform.version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from millstream.platform.version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from millstream.platform.version import MONOLITHIC_BUILD as MONOLITHIC_BUILD

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "Assert",
    "AttrValue",
    "COMPILER_VERSION",
    "CXX11_ABI_FLAG",
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "ConfigProto",
    "CriticalSection",
    "DType",
    "Defun",
    "DeviceSpec",
    "Dimension",
    "Event",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "GIT_VERSION",
    "GPUOptions",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "GradientTape",
    "Graph",
    "GraphDef",
    "GraphKeys",
    "GraphOptions",
    "HistogramProto",
    "IdentityReader",
    "IndexedSlices",
    "IndexedSlicesSpec",
    "IndexedSlicesValue",
    "InteractiveSession",
    "LogMessage",
    "MONOLITHIC_BUILD",
    "MetaGraphDef",
    "Module",
    "NameAttrList",
    "NoGradient",
    "NodeDef",
    "NotDifferentiable",
    "OpError",
    "Operation",
    "OptimizerOptions",
    "PaddingFIFOQueue",
    "PartitionedVariable",
    "Print",
    "PriorityQueue",
    "QUANTIZED_DTYPES",
    "QueueBase",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RandomShuffleQueue",
    "ReaderBase",
    "RegisterGradient",
    "RunMetadata",
    "RunOptions",
    "Session",
    "SessionLog",
    "SparseConditionalAccumulator",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "Summary",
    "SummaryMetadata",
    "TFRecordReader",
    "Tensor",
    "TensorArray",
    "TensorInfo",
    "TensorShape",
    "TensorSpec",
    "TextLineReader",
    "TypeSpec",
    "UnconnectedGradients",
    "VarLenFeature",
    "Variable",
    "VariableAggregation",
    "VariableScope",
    "VariableSynchronization",
    "WholeFileReader",
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_check_numerics_ops",
    "add_n",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "angle",
    "app",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "atan",
    "atan2",
    "atanh",
    "audio",
    "audio_summary",
    "batch_gather",
    "batch_matmul",
    "batch_scatter_update",
    "batch_to_space",
    "batch_to_space_nd",
    "betainc",
    "bfloat16",
    "bfloat16_ref",
    "bincount",
    "bitcast",
    "bitwise",
    "bool",
    "bool_ref",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "ceil",
    "ceiling",
    "check_numerics",
    "cholesky",
    "cholesky_solve",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "colocate_with",
    "compat",
    "complex",
    "complex128",
    "complex128_ref",
    "complex64",
    "complex64_ref",
    "complex_abs",
    "concat",
    "cond",
    "config",
    "confusion_matrix",
    "conj",
    "constant",
    "constant_initializer",
    "container",
    "contrib",
    "control_dependencies",
    "control_flow_v2_enabled",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "create_partitioned_variables",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "data",
    "debugging",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_json_example",
    "decode_raw",
    "delete_session_tensor",
    "depth_to_space",
    "dequantize",
    "deserialize_many_sparse",
    "device",
    "diag",
    "diag_part",
    "digamma",
    "dimension_at_index",
    "dimension_value",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "distribute",
    "distributions",
    "div",
    "div_no_nan",
    "divide",
    "double",
    "double_ref",
    "dtypes",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "einsum",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "encode_base64",
    "ensure_shape",
    "equal",
    "erf",
    "erfc",
    "errors",
    "estimator",
    "examples",
    "executing_eagerly",
    "executing_eagerly_outside_functions",
    "exp",
    "expand_dims",
    "expm1",
    "extract_image_patches",
    "extract_volume_patches",
    "eye",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "feature_column",
    "fft",
    "fft2d",
    "fft3d",
    "fill",
    "fingerprint",
    "fixed_size_partitioner",
    "flags",
    "float16",
    "float16_ref",
    "float32",
    "float32_ref",
    "float64",
    "float64_ref",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "gen_ops",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_local_variable",
    "get_logger",
    "get_seed",
    "get_session_handle",
    "get_session_tensor",
    "get_static_value",
    "get_variable",
    "get_variable_scope",
    "gfile",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "grad_pass_through",
    "gradients",
    "graph_util",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "half_ref",
    "hessians",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "histogram_summary",
    "identity",
    "identity_n",
    "ifft",
    "ifft2d",
    "ifft3d",
    "igamma",
    "igammac",
    "imag",
    "image",
    "image_summary",
    "import_graph_def",
    "init_scope",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "initializers",
    "int16",
    "int16_ref",
    "int32",
    "int32_ref",
    "int64",
    "int64_ref",
    "int8",
    "int8_ref",
    "inv",
    "invert_permutation",
    "io",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_symbolic_tensor",
    "is_tensor",
    "is_variable_initialized",
    "keras",
    "layers",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linalg",
    "linspace",
    "listdiff",
    "load_file_system_library",
    "load_library",
    "load_op_library",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_sigmoid",
    "logging",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lookup",
    "losses",
    "make_ndarray",
    "make_template",
    "make_tensor_proto",
    "manip",
    "map_fn",
    "matching_files",
    "math",
    "matmul",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_solve_ls",
    "matrix_square_root",
    "matrix_transpose",
    "matrix_triangular_solve",
    "maximum",
    "merge_all_summaries",
    "merge_summary",
    "meshgrid",
    "metrics",
    "min_max_variable_partitioner",
    "minimum",
    "mixed_precision",
    "mod",
    "model_variables",
    "moving_average_variables",
    "mul",
    "multinomial",
    "multiply",
    "name_scope",
    "neg",
    "negative",
    "nest",
    "newaxis",
    "nn",
    "no_gradient",
    "no_op",
    "no_regularizer",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "op_scope",
    "orthogonal_initializer",
    "pack",
    "pad",
    "parallel_stack",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "placeholder",
    "placeholder_with_default",
    "polygamma",
    "polyval",
    "pow",
    "print",
    "py_func",
    "py_function",
    "python_io",
    "qint16",
    "qint32",
    "qint8",
    "qr",
    "quantization",
    "quantize",
    "quantize_and_dequantize",
    "quantize_v2",
    "quantized_concat",
    "queue",
    "quint16",
    "quint8",
    "ragged",
    "random",
    "random_crop",
    "random_gamma",
    "random_normal",
    "random_normal_initializer",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "rank",
    "raw_ops",
    "read_file",
    "real",
    "realdiv",
    "reciprocal",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_join",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "regex_replace",
    "register_tensor_conversion_function",
    "repeat",
    "report_uninitialized_variables",
    "required_space_to_batch_paddings",
    "reset_default_graph",
    "reshape",
    "resource",
    "resource_loader",
    "resource_variables_enabled",
    "reverse",
    "reverse_sequence",
    "reverse_v2",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "saturate_cast",
    "saved_model",
    "scalar_mul",
    "scalar_summary",
    "scan",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "select",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "sequence_mask",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "set_random_seed",
    "setdiff1d",
    "sets",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "signal",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
    "sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_matmul",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
    "spectral",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "string_join",
    "string_ref",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "strings",
    "sub",
    "substr",
    "subtract",
    "summary",
    "svd",
    "switch_case",
    "sysconfig",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "test",
    "tile",
    "timestamp",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "train",
    "trainable_variables",
    "transpose",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "truncatediv",
    "truncatemod",
    "tuple",
    "type_spec_from_value",
    "uint16",
    "uint16_ref",
    "uint32",
    "uint32_ref",
    "uint64",
    "uint64_ref",
    "uint8",
    "uint8_ref",
    "uniform_unit_scaling_initializer",
    "unique",
    "unique_with_counts",
    "unpack",
    "unravel_index",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "unstack",
    "variable_axis_size_partitioner",
    "variable_creator_scope",
    "variable_op_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "variant",
    "vectorized_map",
    "verify_tensor_all_finite",
    "version",
    "where",
    "where_v2",
    "while_loop",
    "with_dependencies",
    "write_file",
    "zeros",
    "zeros_initializer",
    "zeros_like",
    "zeta",
]

__version__: str
__millstream_version__: str
