#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the graphs that bench/gpu compares with PyTorch, for graph_steps_bench: graphs.py FOLDER."""

import pathlib
import sys
from collections.abc import Callable
from typing import Any

import millstream as tf

# Loss, training op, what is fed. Models that are not fed have their batch in a variable on the device.
Built = tuple[Any, Any, list[tuple[Any, str]]]


def dense(x: Any, inputs: int, outputs: int, name: str) -> Any:
    w = tf.get_variable(name + "_w", [inputs, outputs], initializer=tf.truncated_normal_initializer(stddev=0.05, seed=1))
    b = tf.get_variable(name + "_b", [outputs], initializer=tf.zeros_initializer())
    return tf.nn.bias_add(tf.matmul(x, w), b)


def mean_loss(logits: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def mlp() -> Built:
    """784-500-500-10, batch 32, Adam."""
    x = tf.placeholder(tf.float32, [32, 784], "x")
    y = tf.placeholder(tf.int64, [32], "y")
    h = tf.nn.relu(dense(x, 784, 500, "l1"))
    h = tf.nn.relu(dense(h, 500, 500, "l2"))
    loss = mean_loss(dense(h, 500, 10, "l3"), y)
    return loss, tf.train.AdamOptimizer(1e-3).minimize(loss), [(x, "float 32x784"), (y, "int64 32 10")]


def conv(x: Any, size: int, inputs: int, outputs: int, name: str) -> Any:
    w = tf.get_variable(name + "_w", [size, size, inputs, outputs], initializer=tf.truncated_normal_initializer(stddev=0.1, seed=2))
    b = tf.get_variable(name + "_b", [outputs], initializer=tf.zeros_initializer())
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), b))
    return tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def lenet() -> Built:
    """Two convolutions of 5x5 (32 and 64 channels) with pools, 1024 units, 10 classes; batch 64, SGD."""
    x = tf.placeholder(tf.float32, [64, 28, 28, 1], "x")
    y = tf.placeholder(tf.int64, [64], "y")
    h = conv(conv(x, 5, 1, 32, "c1"), 5, 32, 64, "c2")
    h = tf.nn.relu(dense(tf.reshape(h, [64, 7 * 7 * 64]), 7 * 7 * 64, 1024, "l1"))
    loss = mean_loss(dense(h, 1024, 10, "l2"), y)
    return loss, tf.train.GradientDescentOptimizer(0.01).minimize(loss), [(x, "float 64x28x28x1"), (y, "int64 64 10")]


def resident(name: str, shape: list[int], dtype: Any = tf.float32) -> Any:
    return tf.get_variable(name, shape, dtype, initializer=tf.random_normal_initializer(seed=3, dtype=dtype), trainable=False)


def labels(name: str, shape: list[int], classes: int) -> Any:
    def values(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.cast(tf.random_uniform(shape, 0, float(classes), seed=4), dtype)

    return tf.get_variable(name, shape, tf.int64, initializer=values, trainable=False)


def normal_conv(x: Any, size: int, outputs: int, stride: int, name: str) -> Any:
    """A convolution with float weights, computed in the type of the images, and batch normalization."""
    inputs = int(x.shape[-1])
    normal = tf.truncated_normal_initializer(stddev=(2 / (size * size * inputs)) ** 0.5, seed=2)
    w = tf.get_variable(name + "_w", [size, size, inputs, outputs], initializer=normal)
    scale = tf.get_variable(name + "_scale", [outputs], initializer=tf.ones_initializer())
    offset = tf.get_variable(name + "_offset", [outputs], initializer=tf.zeros_initializer())
    if stride > 1 and size > 1:  # as PyTorch's models pad
        x = tf.pad(x, [[0, 0], [size // 2, size // 2], [size // 2, size // 2], [0, 0]])
        h = tf.nn.conv2d(x, tf.cast(w, x.dtype), [1, stride, stride, 1], "VALID")
    else:
        h = tf.nn.conv2d(x, tf.cast(w, x.dtype), [1, stride, stride, 1], "SAME")
    return tf.nn.fused_batch_norm(h, scale, offset, is_training=True)[0]


def bottleneck(x: Any, width: int, stride: int, name: str) -> Any:
    h = tf.nn.relu(normal_conv(x, 1, width, 1, name + "a"))
    h = tf.nn.relu(normal_conv(h, 3, width, stride, name + "b"))
    h = normal_conv(h, 1, 4 * width, 1, name + "c")
    if stride > 1 or int(x.shape[-1]) != 4 * width:
        x = normal_conv(x, 1, 4 * width, stride, name + "s")
    return tf.nn.relu(h + x)


def resnet(batch: int, size: int, dtype: Any, rate: float) -> Built:
    h = tf.cast(resident("images", [batch, size, size, 3]), dtype)
    h = tf.nn.relu(normal_conv(h, 7, 64, 2, "stem"))
    h = tf.nn.max_pool(h, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            h = bottleneck(h, width, 2 if block == 0 and stage > 0 else 1, f"s{stage}_{block}")
    h = tf.cast(tf.reduce_mean(h, [1, 2]), tf.float32)
    loss = mean_loss(dense(h, 2048, 1000, "top"), labels("labels", [batch], 1000))
    return loss, tf.train.MomentumOptimizer(rate, 0.9).minimize(loss), []


def resnet50() -> Built:
    """ResNet-50 in bfloat16 with float weights, batch 256, momentum."""
    return resnet(256, 224, tf.bfloat16, 0.1)


def lstm() -> Built:
    """A language model: two layers of 650 units, 35 steps, batch 20, 10,000 words; SGD."""
    steps, batch, units, words = 35, 20, 650, 10000
    init = tf.random_uniform_initializer(-0.05, 0.05, seed=5)
    with tf.variable_scope("lm", initializer=init):
        table = tf.get_variable("table", [words, units])
        inputs = tf.nn.embedding_lookup(table, labels("inputs", [batch, steps], words))
        cells = [tf.nn.rnn_cell.BasicLSTMCell(units) for _ in range(2)]
        cell = tf.nn.rnn_cell.MultiRNNCell(cells)
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(inputs, steps, 1), dtype=tf.float32)
        h = tf.reshape(tf.concat(outputs, 1), [batch * steps, units])
        w = tf.get_variable("softmax_w", [units, words])
        b = tf.get_variable("softmax_b", [words])
        targets = tf.reshape(labels("targets", [batch, steps], words), [-1])
        loss = mean_loss(tf.nn.bias_add(tf.matmul(h, w), b), targets)
    return loss, tf.train.GradientDescentOptimizer(1.0).minimize(loss), []


def layer_norm(x: Any, name: str) -> Any:
    """Rows as the channels of one image, which is how tf.keras.layers.LayerNormalization does it."""
    rows, width = int(x.shape[0]), int(x.shape[1])
    scale = tf.get_variable(name + "_scale", [width], initializer=tf.ones_initializer())
    offset = tf.get_variable(name + "_offset", [width], initializer=tf.zeros_initializer())
    image = tf.reshape(x, [1, rows, width, 1])
    normal = tf.nn.fused_batch_norm(image, tf.ones([rows]), tf.zeros([rows]), epsilon=1e-5, data_format="NCHW")[0]
    return tf.reshape(normal, [rows, width]) * tf.cast(scale, x.dtype) + tf.cast(offset, x.dtype)


def bf16_dense(x: Any, outputs: int, name: str) -> Any:
    inputs = int(x.shape[1])
    w = tf.get_variable(name + "_w", [inputs, outputs], initializer=tf.truncated_normal_initializer(stddev=inputs**-0.5, seed=1))
    b = tf.get_variable(name + "_b", [outputs], initializer=tf.zeros_initializer())
    return tf.nn.bias_add(tf.matmul(x, tf.cast(w, tf.bfloat16)), tf.cast(b, tf.bfloat16))


def attention(x: Any, batch: int, tokens: int, heads: int, name: str) -> Any:
    width = int(x.shape[1])
    qkv = tf.reshape(bf16_dense(x, 3 * width, name + "_qkv"), [batch, tokens, 3, heads, width // heads])
    q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * (width // heads) ** -0.5)
    mixed = tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])
    return bf16_dense(tf.reshape(mixed, [batch * tokens, width]), width, name + "_out")


def transformer() -> Built:
    """Six encoder blocks: 512 wide, 8 heads, 128 tokens, batch 64, bfloat16 with float weights; Adam."""
    batch, tokens, width = 64, 128, 512
    h = tf.cast(resident("tokens", [batch * tokens, width]), tf.bfloat16)
    for i in range(6):
        h = layer_norm(h + attention(h, batch, tokens, 8, f"b{i}_attention"), f"b{i}_norm1")
        inner = tf.nn.relu(bf16_dense(h, 4 * width, f"b{i}_up"))
        h = layer_norm(h + bf16_dense(inner, width, f"b{i}_down"), f"b{i}_norm2")
    loss = tf.reduce_mean(tf.square(tf.cast(h, tf.float32) - resident("wanted", [batch * tokens, width])))
    return loss, tf.train.AdamOptimizer(1e-4).minimize(loss), []


def check_resnet() -> Built:
    """Small enough for a CPU to compare with."""
    return resnet(4, 64, tf.float32, 0.001)


def check_towers() -> Built:
    """Two towers on two GPUs whose gradients are averaged; variables are on the CPU, as in document 002."""
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    losses, gradients = [], []
    for i in range(2):
        with tf.device("/cpu:0"):
            x, y = resident(f"x{i}", [32, 784]), labels(f"y{i}", [32], 10)
        with tf.device(f"/gpu:{i}"), tf.variable_scope("model", reuse=i > 0):
            h = tf.nn.relu(dense(x, 784, 100, "l1"))
            losses.append(mean_loss(dense(h, 100, 10, "l2"), y))
            gradients.append(optimizer.compute_gradients(losses[-1]))
    with tf.device("/cpu:0"):
        averaged = [(tf.add_n([grad for grad, _ in pairs]) / 2.0, pairs[0][1]) for pairs in zip(*gradients)]
        train = optimizer.apply_gradients(averaged)
        return tf.add_n(losses) / 2.0, train, []


def check_out_of_memory() -> Built:
    """A product of 1 GiB for a GPU with half of that."""
    x = tf.get_variable("x", [16384, 16], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.square(tf.matmul(x, x, transpose_b=True)))
    return loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss), []


VIRTUAL_GPUS = {"check_towers": "2 2048", "check_out_of_memory": "1 512"}
# A step of these takes so many times longer than one of the small models.
SLOWNESS = {"resnet50": 200, "lstm": 20, "transformer": 50, "check_resnet": 20}


def write(folder: pathlib.Path, build: Callable[[], Built]) -> None:
    with tf.Graph().as_default() as graph:
        loss, train, feeds = build()
        init = tf.global_variables_initializer()
        lines = [f"init {init.name}", f"target {train.name}", f"loss {loss.name}"]
        if build.__name__ in SLOWNESS:
            lines.append(f"slowness {SLOWNESS[build.__name__]}")
        if build.__name__ in VIRTUAL_GPUS:
            lines.append(f"virtual_gpus {VIRTUAL_GPUS[build.__name__]}")
        lines += [f"feed {tensor.name} {what}" for tensor, what in feeds]
        (folder / f"{build.__name__}.pb").write_bytes(graph.as_graph_def().SerializeToString())
        (folder / f"{build.__name__}.txt").write_text("\n".join(lines) + "\n")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for build in (mlp, lenet, resnet50, lstm, transformer, check_resnet, check_towers, check_out_of_memory):
        write(folder, build)


if __name__ == "__main__":
    main()
