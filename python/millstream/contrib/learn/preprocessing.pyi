# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.contrib.text_preprocessing import CategoricalVocabulary as CategoricalVocabulary
from millstream.ops.contrib.text_preprocessing import VocabularyProcessor as VocabularyProcessor
from millstream.ops.contrib.text_preprocessing import tokenizer as tokenizer

__all__ = [
    "CategoricalVocabulary",
    "VocabularyProcessor",
    "tokenizer",
]
