# SPDX-License-Identifier: Apache-2.0
"""tensorflow.examples.tutorials.mnist.mnist: the network of the tutorial about fed data, with its names."""
import math

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.losses import losses
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import nn_ops
from millstream.ops.random import random_ops
from millstream.ops.variables import variables

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _layer(name, x, inputs, outputs):
    with ops.name_scope(name):
        weights = variables.Variable(random_ops.truncated_normal([inputs, outputs], stddev=1.0 / math.sqrt(float(inputs))),
                                     name="weights")
        biases = variables.Variable(array_ops.zeros([outputs]), name="biases")
        return gen_ops.mat_mul(x, weights) + biases


def inference(images, hidden1_units, hidden2_units):
    """The logits of two hidden layers."""
    hidden1 = gen_ops.relu(_layer("hidden1", images, IMAGE_PIXELS, hidden1_units))
    hidden2 = gen_ops.relu(_layer("hidden2", hidden1, hidden1_units, hidden2_units))
    return _layer("softmax_linear", hidden2, hidden2_units, NUM_CLASSES)


def loss(logits, labels):
    """The mean cross entropy; labels are numbers of classes."""
    return losses.sparse_softmax_cross_entropy(labels=math_ops.cast(labels, dtypes.int64), logits=logits)


def training(loss, learning_rate):  # pylint: disable=redefined-outer-name
    """An operation that does one step of gradient descent, and a summary of the loss."""
    from millstream.events import summary_ops
    from millstream.training import gradient_descent
    summary_ops.scalar("loss", loss)
    step = variables.Variable(0, name="global_step", trainable=False)
    return gradient_descent.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=step)


def evaluation(logits, labels):
    """How many labels are the best guess."""
    correct = nn_ops.in_top_k(logits, labels, 1)
    return reduce_ops.reduce_sum(math_ops.cast(correct, dtypes.int32))
