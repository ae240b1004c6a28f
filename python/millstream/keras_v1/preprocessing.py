# SPDX-License-Identifier: Apache-2.0
"""tf.keras.preprocessing: sequences of the same length, texts as numbers."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import DTypeLike

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def pad_sequences(sequences: Any, maxlen: Any = None, dtype: DTypeLike = "int32", padding: Any = "pre", truncating: str = "pre",
                  value: Any = 0.0) -> Any:
    for text, name in ((padding, "Padding"), (truncating, "Truncating")):
        if text not in ("pre", "post"):
            raise ValueError(f'{name} type "{text}" not understood')
    maxlen = max((len(s) for s in sequences), default=0) if maxlen is None else maxlen
    tail = next((np.shape(s)[1:] for s in sequences if len(s)), ())
    out = np.full((len(sequences), maxlen) + tuple(tail), value, dtype=dtype)
    for row, s in enumerate(sequences):
        if not len(s) or not maxlen:
            continue
        kept = np.asarray(s[-maxlen:] if truncating == "pre" else s[:maxlen], dtype=dtype)
        if padding == "pre":
            out[row, -len(kept):] = kept
        else:
            out[row, :len(kept)] = kept
    return out


def text_to_word_sequence(text: Any, filters: Any = _FILTERS, lower: bool = True, split: str = " ") -> Any:
    text = text.lower() if lower else text
    return [w for w in text.translate({ord(c): split for c in filters}).split(split) if w]


def one_hot(text: Any, n: Any, filters: Any = _FILTERS, lower: bool = True, split: str = " ") -> Any:
    return [hash(w) % (n - 1) + 1 for w in text_to_word_sequence(text, filters, lower, split)]


class Tokenizer:
    """Words (or characters) by how often they are in texts; number 1 is the most frequent."""

    def __init__(self, num_words=None, filters=_FILTERS, lower=True, split=" ", char_level=False, oov_token=None, document_count=0,
                 **kwargs):
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts, self.word_docs = collections.OrderedDict(), collections.defaultdict(int)
        self.word_index, self.index_word = {}, {}

    def _words(self, text):
        if self.char_level or isinstance(text, list):
            return [w.lower() for w in text] if self.lower else list(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Any) -> None:
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = sorted(self.word_counts.items(), key=lambda item: -item[1])
        names = ([self.oov_token] if self.oov_token is not None else []) + [w for w, _ in ordered]
        self.word_index = {w: i + 1 for i, w in enumerate(names)}
        self.index_word = {i: w for w, i in self.word_index.items()}

    def _number(self, word):
        number, outside = self.word_index.get(word), self.word_index.get(self.oov_token)
        return outside if number is None or self.num_words and number >= self.num_words else number

    def texts_to_sequences(self, texts: Any) -> Any:
        return [[n for n in map(self._number, self._words(t)) if n is not None] for t in texts]

    def sequences_to_texts(self, sequences: Any) -> Any:
        return [" ".join(self.index_word[n] for n in s if n in self.index_word) for s in sequences]

    def texts_to_matrix(self, texts: Any, mode: str = "binary") -> Any:
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> Any:
        if mode not in ("binary", "count", "freq"):
            raise ValueError("Unknown vectorization mode:", mode)
        out = np.zeros((len(sequences), self.num_words or len(self.word_index) + 1))
        for row, s in enumerate(sequences):
            for n in s:
                out[row, n] = 1 if mode == "binary" else out[row, n] + 1
            if mode == "freq" and s:
                out[row] /= len(s)
        return out
