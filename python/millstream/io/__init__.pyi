# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.graph_util import write_graph as write_graph
from millstream.gen_ops import extract_jpeg_shape as extract_jpeg_shape
from millstream.io import gfile as gfile
from millstream.ops.image.image_boxes import decode_and_crop_jpeg as decode_and_crop_jpeg
from millstream.ops.image.image_ops import decode_jpeg as decode_jpeg
from millstream.ops.image.image_ops import decode_png as decode_png
from millstream.ops.image.image_ops import encode_jpeg as encode_jpeg
from millstream.ops.image.image_ops import encode_png as encode_png
from millstream.ops.image.image_quality_ops import decode_bmp as decode_bmp
from millstream.ops.image.image_quality_ops import decode_gif as decode_gif
from millstream.ops.image.image_quality_ops import decode_image as decode_image
from millstream.ops.image.image_quality_ops import is_jpeg as is_jpeg
from millstream.ops.io.io_ops import match_filenames_once as match_filenames_once
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
from millstream.ops.io.proto_ops import decode_proto as decode_proto
from millstream.ops.io.proto_ops import encode_proto as encode_proto
from millstream.ops.io.python_io import TFRecordCompressionType as TFRecordCompressionType
from millstream.ops.io.python_io import TFRecordOptions as TFRecordOptions
from millstream.ops.io.python_io import TFRecordWriter as TFRecordWriter
from millstream.ops.io.python_io import tf_record_iterator as tf_record_iterator
from millstream.ops.io.sequence_parsing import parse_sequence_example as parse_sequence_example
from millstream.ops.io.sequence_parsing import parse_single_sequence_example as parse_single_sequence_example
from millstream.ops.io.sequence_parsing import parse_tensor as parse_tensor
from millstream.ops.io.sequence_parsing import serialize_tensor as serialize_tensor
from millstream.ops.math.special_ops import decode_compressed as decode_compressed
from millstream.ops.queues.data_flow_ops import PaddingFIFOQueue as PaddingFIFOQueue
from millstream.ops.queues.data_flow_ops import PriorityQueue as PriorityQueue
from millstream.ops.queues.data_flow_ops import QueueBase as QueueBase
from millstream.ops.queues.data_flow_ops import RandomShuffleQueue as RandomShuffleQueue
from millstream.ops.sparse.sparse_ops import deserialize_many_sparse as deserialize_many_sparse
from millstream.ops.sparse.sparse_ops import serialize_many_sparse as serialize_many_sparse
from millstream.ops.sparse.sparse_ops import serialize_sparse as serialize_sparse
from millstream.ops.strings.string_ops import decode_base64 as decode_base64
from millstream.ops.strings.string_ops import decode_json_example as decode_json_example
from millstream.ops.strings.string_ops import encode_base64 as encode_base64

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_proto",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "encode_proto",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
    "write_graph",
]
