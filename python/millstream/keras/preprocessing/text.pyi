# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras_v1.preprocessing import Tokenizer as Tokenizer
from millstream.keras_v1.preprocessing import one_hot as one_hot
from millstream.keras_v1.preprocessing import text_to_word_sequence as text_to_word_sequence

__all__ = [
    "Tokenizer",
    "one_hot",
    "text_to_word_sequence",
]
