# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.plain_ops import unsorted_segment_join as unsorted_segment_join
from millstream.ops.ragged.ragged_strings import bytes_split as bytes_split
from millstream.ops.ragged.ragged_strings import ngrams as ngrams
from millstream.ops.ragged.ragged_strings import unicode_decode as unicode_decode
from millstream.ops.ragged.ragged_strings import unicode_decode_with_offsets as unicode_decode_with_offsets
from millstream.ops.ragged.ragged_strings import unicode_encode as unicode_encode
from millstream.ops.ragged.ragged_strings import unicode_split as unicode_split
from millstream.ops.ragged.ragged_strings import unicode_split_with_offsets as unicode_split_with_offsets
from millstream.ops.strings.string_ops import as_string as as_string
from millstream.ops.strings.string_ops import reduce_join as reduce_join
from millstream.ops.strings.string_ops import regex_full_match as regex_full_match
from millstream.ops.strings.string_ops import regex_replace as regex_replace
from millstream.ops.strings.string_ops import string_format as format
from millstream.ops.strings.string_ops import string_join as join
from millstream.ops.strings.string_ops import string_length as length
from millstream.ops.strings.string_ops import string_lower as lower
from millstream.ops.strings.string_ops import string_split_v2 as split
from millstream.ops.strings.string_ops import string_strip as strip
from millstream.ops.strings.string_ops import string_to_hash_bucket as to_hash_bucket
from millstream.ops.strings.string_ops import string_to_hash_bucket_fast as to_hash_bucket_fast
from millstream.ops.strings.string_ops import string_to_hash_bucket_strong as to_hash_bucket_strong
from millstream.ops.strings.string_ops import string_to_number as to_number
from millstream.ops.strings.string_ops import string_upper as upper
from millstream.ops.strings.string_ops import substr as substr
from millstream.ops.strings.string_ops import unicode_transcode as unicode_transcode

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
