# SPDX-License-Identifier: Apache-2.0
"""A Keras model with elastic state; rank 1 ends itself once, in its second epoch. Argument: a file that says that it has."""
import os
import sys

import numpy as np

import millstream as tf
import millstream.horovod.keras as hvd

STEPS, EPOCHS = 5, 3
hvd.init()
data = np.random.RandomState(0).rand(400, 3).astype(np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh", input_shape=(3,)), tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.05, momentum=0.9)), "mse")
batches = []


class Die(tf.keras.callbacks.Callback):
    def on_batch_begin(self, batch, logs=None):
        batches.append((state.epoch, state.batch))
        if hvd.rank() == 1 and state.epoch == 1 and state.batch == 3 and not os.path.exists(sys.argv[1]):
            open(sys.argv[1], "w").close()
            os._exit(9)


def generate():
    while True:
        rows = np.random.RandomState(state.epoch * STEPS + state.batch + 1000 * hvd.rank()).randint(0, 400, 8)
        yield data[rows], data[rows].sum(1, keepdims=True)


state = hvd.elastic.KerasState(model, batch=0, epoch=0)
callbacks = [Die(), hvd.elastic.UpdateEpochStateCallback(state), hvd.elastic.UpdateBatchStateCallback(state),
             hvd.elastic.CommitStateCallback(state, batches_per_commit=2)]


@hvd.elastic.run
def train(given):
    given.model.fit(generate(), steps_per_epoch=STEPS, epochs=EPOCHS - given.epoch, callbacks=callbacks, verbose=0)


train(state)
assert state.epoch == EPOCHS and state.batch == 0
session = tf.keras.backend.get_session()
weights = np.concatenate([np.ravel(v) for v in session.run([v.value() for v in tf.global_variables() if "iter" not in v.name])])
everybody = hvd.allgather_object(weights)
for other in everybody:
    np.testing.assert_array_equal(other, weights)  # those of the optimizer, too
print(f"rank {hvd.rank()}: {batches}")
