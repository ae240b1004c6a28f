# SPDX-License-Identifier: Apache-2.0
"""Which examples each rank takes, when ranks come and go."""
from __future__ import annotations

import numpy as np

from millstream.horovod import basics


class WorkQueue:
    """Deals out the examples of epochs: all ranks take their parts of the next examples at the same time, and each example of an epoch is taken
    once, whatever happens to the ranks.

    Its place in the epoch is part of the state of training: give the queue to a State as an attribute. After a failure it goes back to the last
    commit together with the variables, so that examples whose updates are lost are taken again.

        state = hvd.elastic.TensorFlowState(session=session, queue=hvd.elastic.WorkQueue(len(images), 64))
        ...
        while state.queue.epoch < 5:
            rows = state.queue.take()
    """

    def __init__(self, num_examples, batch_size, shuffle=True, seed=0):
        if num_examples < 1 or batch_size < 1:
            raise ValueError(f"WorkQueue needs at least one example and a batch size of at least 1, got {num_examples} and {batch_size}")
        self.num_examples, self.batch_size, self.shuffle, self.seed = int(num_examples), int(batch_size), shuffle, int(seed)
        self.epoch, self.position = 0, 0  # examples of the epoch that were taken
        self.dealt = 0  # by all ranks together, at the last take()
        self._order, self._order_of = None, None

    def __getstate__(self):
        return {**self.__dict__, "_order": None, "_order_of": None}  # follows from seed and epoch

    def _examples(self):
        if self._order_of != self.epoch:
            order = np.arange(self.num_examples)
            if self.shuffle:
                np.random.RandomState((self.seed + self.epoch) % 2**32).shuffle(order)
            self._order, self._order_of = order, self.epoch
        return self._order

    def take(self, rank=None, size=None):
        """The numbers of this rank's next examples: batch_size of them, fewer at the end of an epoch, perhaps none. All ranks have to call it.
        `dealt` is then how many all ranks have together: the sum of losses over `dealt / size` is averaged over ranks without a bias."""
        rank, size = basics.rank() if rank is None else rank, basics.size() if size is None else size
        self.dealt = min(self.batch_size * size, self.num_examples - self.position)
        begin, end = (self.position + self.dealt * r // size for r in (rank, rank + 1))
        examples = self._examples()[begin:end]
        self.position += self.dealt
        if self.position == self.num_examples:
            self.epoch, self.position = self.epoch + 1, 0
        return examples


__all__ = ["WorkQueue"]
