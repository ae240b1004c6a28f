# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.learn.preprocessing: words to ids for documents of one length."""
from __future__ import annotations

import pickle
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

_WORD = re.compile(r"['\w-]+", re.UNICODE)


def tokenizer(iterator):
    """The words of each document."""
    for value in iterator:
        yield _WORD.findall(value)


class CategoricalVocabulary:
    """Ids of words; 0 is for unknown ones."""

    def __init__(self, unknown_token="<UNK>", support_reverse=True):
        self._unknown_token, self._mapping, self._reverse = unknown_token, {unknown_token: 0}, [unknown_token]
        self._counts, self._frozen = {}, False

    def __len__(self):
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        self._frozen = freeze

    def get(self, category: Any) -> Any:
        if category not in self._mapping:
            if self._frozen:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: Any = 1) -> None:
        if self.get(category):
            self._counts[category] = self._counts.get(category, 0) + count

    def trim(self, min_frequency: Any, max_frequency: Any = -1) -> None:
        """Keeps words that are frequent enough; the most frequent get the smallest ids."""
        kept = [(c, n) for c, n in sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
                if n > min_frequency and (max_frequency <= 0 or n < max_frequency)]
        self._reverse = [self._unknown_token] + [c for c, _ in kept]
        self._mapping = {c: i for i, c in enumerate(self._reverse)}
        self._counts = dict(kept)

    def reverse(self, class_id: Any) -> Any:
        return self._reverse[class_id]


class VocabularyProcessor:
    """Documents as arrays of `max_document_length` ids."""

    def __init__(self, max_document_length: Any, min_frequency: Any = 0, vocabulary: Any = None,
                 tokenizer_fn: Any = None) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Any, unused_y: Any = None) -> Any:
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Any, unused_y: Any = None) -> Any:
        raw_documents = list(raw_documents)
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents):
        for words in self._tokenizer(raw_documents):
            ids = np.zeros(self.max_document_length, np.int64)
            for i, word in enumerate(words[:self.max_document_length]):
                ids[i] = self.vocabulary_.get(word)
            yield ids

    def reverse(self, documents):
        for document in documents:
            yield " ".join(self.vocabulary_.reverse(i) for i in document)

    def save(self, filename: str) -> None:
        from millstream.platform import gfile
        with gfile.GFile(filename, "wb") as f:
            f.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> Any:
        """Reads what save() wrote. It is a pickle: only files that you trust."""
        from millstream.platform import gfile
        with gfile.GFile(filename, "rb") as f:
            return pickle.loads(f.read())
