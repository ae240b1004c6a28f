# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.io.python_io import TFRecordCompressionType as TFRecordCompressionType
from millstream.ops.io.python_io import TFRecordOptions as TFRecordOptions
from millstream.ops.io.python_io import TFRecordWriter as TFRecordWriter
from millstream.ops.io.python_io import tf_record_iterator as tf_record_iterator

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]
