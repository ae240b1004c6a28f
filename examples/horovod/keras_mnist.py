# SPDX-License-Identifier: Apache-2.0
"""MNIST with tf.keras and Horovod.

    millstream launch --workers 2 -- python -m millstream keras_mnist.py --epochs 2
"""
import argparse
import math

import horovod.tensorflow.keras as hvd
import tensorflow as tf
from tensorflow import keras

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--batch_size", type=int, default=128)
parser.add_argument("--samples", type=int, default=60000)
args = parser.parse_args()

# Horovod: initialize Horovod.
hvd.init()

# Horovod: pin GPU to be used to process local rank (one GPU per process)
config = tf.ConfigProto()
config.gpu_options.allow_growth = True
config.gpu_options.visible_device_list = str(hvd.local_rank())
keras.backend.set_session(tf.Session(config=config))

# Horovod: adjust number of epochs based on number of ranks.
epochs = int(math.ceil(args.epochs / hvd.size()))

(x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
x_train, y_train = x_train[:args.samples].reshape(-1, 784).astype("float32") / 255, y_train[:args.samples]
x_test = x_test.reshape(-1, 784).astype("float32") / 255
y_train = keras.utils.to_categorical(y_train, 10)
y_test = keras.utils.to_categorical(y_test, 10)

model = keras.Sequential()
model.add(keras.layers.Dense(128, activation="relu", input_shape=(784,)))
model.add(keras.layers.Dropout(0.25))
model.add(keras.layers.Dense(10, activation="softmax"))

# Horovod: adjust learning rate based on number of ranks.
scaled_lr = 0.1 * hvd.size()
opt = keras.optimizers.SGD(scaled_lr, momentum=0.9)

# Horovod: add Horovod Distributed Optimizer.
opt = hvd.DistributedOptimizer(opt)

model.compile(loss="categorical_crossentropy", optimizer=opt, metrics=["accuracy"])

callbacks = [
    # Horovod: broadcast initial variable states from rank 0 to all other processes.
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    # Horovod: average metrics among workers at the end of every epoch.
    hvd.callbacks.MetricAverageCallback(),
    # Horovod: using `lr = 1.0 * hvd.size()` from the very beginning leads to worse final accuracy. Scale it up gradually.
    hvd.callbacks.LearningRateWarmupCallback(initial_lr=scaled_lr, warmup_epochs=1, verbose=1),
]
# Horovod: save checkpoints only on worker 0 to prevent other workers from corrupting them.
if hvd.rank() == 0:
    callbacks.append(keras.callbacks.ModelCheckpoint("./checkpoint-{epoch}", save_weights_only=True))

model.fit(x_train, y_train, batch_size=args.batch_size, callbacks=callbacks, epochs=epochs, verbose=1 if hvd.rank() == 0 else 0)
score = hvd.allreduce(model.evaluate(x_test, y_test, verbose=0), name="score")
print("rank %d of %d: test loss %.3f, test accuracy %.3f" % (hvd.rank(), hvd.size(), score[0], score[1]))
