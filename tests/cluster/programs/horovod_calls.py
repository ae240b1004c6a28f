# SPDX-License-Identifier: Apache-2.0
"""Every call of millstream.horovod with every type, checked at each rank against numpy. Arguments: the expected number of ranks."""
import sys

import numpy as np

import millstream as tf
import millstream.horovod as hvd

hvd.init()
rank, size = hvd.rank(), hvd.size()
assert size == int(sys.argv[1]), size
assert hvd.is_initialized() and 0 <= hvd.local_rank() < hvd.local_size() == size and hvd.cross_size() == 1 and hvd.cross_rank() == 0

REDUCED = [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.int8, tf.uint16, tf.int16]
MOVED = REDUCED + [tf.bool, tf.uint32, tf.uint64]
OPS = {hvd.Sum: lambda a: np.sum(a, 0), hvd.Min: lambda a: np.min(a, 0), hvd.Max: lambda a: np.max(a, 0), hvd.Product: lambda a: np.prod(a, 0)}
checks = []  # (name, tensors, expected arrays)


def check(name, tensors, expected):
    many = isinstance(tensors, (list, tuple))
    checks.append((name, list(tensors) if many else [tensors], list(expected) if many else [expected]))


def of(r, shape, dtype=np.float64):
    """Rank r's array: small whole numbers."""
    return (np.arange(int(np.prod(shape))).reshape(shape) % 2 + r % 2 + 1).astype(dtype)


def given(shape, dtype, r=rank):
    return tf.cast(tf.constant(of(r, shape, np.int32)), dtype)


for dtype in REDUCED:
    for shape in [(), (1,), (5,), (2, 3), (0,)]:
        everybody = np.stack([of(r, shape) for r in range(size)])
        for op, function in OPS.items():
            check(f"allreduce {dtype.name} {shape} {op}", hvd.allreduce(given(shape, dtype), op=op), function(everybody))
        mean = np.mean(everybody, 0)
        check(f"average {dtype.name} {shape}", hvd.allreduce(given(shape, dtype)), np.trunc(mean) if dtype.is_integer else mean)
for dtype in MOVED:
    for tail in [(), (3,), (2, 2)]:
        parts = [of(r, (r + 1, *tail)).astype(bool if dtype == tf.bool else np.float64) for r in range(size)]
        check(f"allgather {dtype.name} {tail}", hvd.allgather(given((rank + 1, *tail), dtype)), np.concatenate(parts))
        check(f"broadcast {dtype.name} {tail}", hvd.broadcast(given(tail, dtype), size - 1), of(size - 1, tail).astype(parts[0].dtype))
        rows = size * (size + 1) // 2  # rank r gets r + 1 rows of everybody
        moved, counts = hvd.alltoall(given((rows, *tail), dtype), list(range(1, size + 1)))
        begin = rank * (rank + 1) // 2
        want = np.concatenate([of(r, (rows, *tail))[begin:begin + rank + 1] for r in range(size)]).astype(parts[0].dtype)
        check(f"alltoall {dtype.name} {tail}", [moved, counts], [want, [rank + 1] * size])
check("alltoall without splits", hvd.alltoall(tf.constant([float(rank)] * (2 * size))), np.repeat(np.arange(size), 2))
empty = tf.zeros([0, 2]) if rank else tf.ones([3, 2])
check("allgather of nothing", hvd.allgather(empty, name="nothing"), np.ones([3, 2]))
check("allreduce scaled", hvd.allreduce(tf.constant([2.0]), op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0), [3.0 * size])
check("average=False", hvd.allreduce(tf.constant(2.0), average=False), 2.0 * size)
check("fp16", hvd.allreduce(tf.constant([1.5 + rank]), compression=hvd.Compression.fp16), [1.5 + (size - 1) / 2])
check("grouped", hvd.grouped_allreduce([tf.fill([3], float(rank)), tf.fill([2, 2], rank), tf.constant(1.0)], op=hvd.Sum),
      [np.full(3, sum(range(size))), np.full([2, 2], sum(range(size))), size])
# Orthogonal gradients are added, parallel ones averaged; every rank's own in float64 here.
if size & (size - 1) == 0:
    def adasum(parts):
        while len(parts) > 1:
            parts = [a * (1 - a @ b / (2 * a @ a)) + b * (1 - a @ b / (2 * b @ b)) for a, b in zip(parts[::2], parts[1::2])]
        return parts[0]
    given_parts = [np.array([1.0 + r, 2.0, -1.0 * r, 0.5]) for r in range(size)]
    for dtype in (tf.float32, tf.float64, tf.float16):
        check(f"adasum {dtype.name}", hvd.allreduce(tf.constant(given_parts[rank], dtype), op=hvd.Adasum), adasum(given_parts))
    apart = tf.one_hot(rank, size)
    check("adasum of orthogonal", hvd.allreduce(apart, op=hvd.Adasum), np.ones(size))
    check("adasum of equal", hvd.grouped_allreduce([tf.constant([3.0, 4.0]), tf.constant([0.0, 0.0])], op=hvd.Adasum), [[3.0, 4.0], [0.0, 0.0]])
total = np.arange(5) * sum(range(1, size + 1))
begin = 5 // size * rank + min(rank, 5 % size)
check("reducescatter", hvd.reducescatter(tf.range(5.0) * (rank + 1), op=hvd.Sum), total[begin:begin + 5 // size + (rank < 5 % size)])
slices = hvd.allreduce(tf.IndexedSlices(tf.fill([rank + 1, 2], 1.0 + rank), tf.range(rank + 1), tf.constant([size, 2])))
check("slices", [slices.values, slices.indices], [np.concatenate([np.full([r + 1, 2], 1.0 + r) for r in range(size)]) / size,
                                                 np.concatenate([np.arange(r + 1) for r in range(size)])])

# Gradients, as Horovod defines them.
x = tf.constant([1.0, 2.0]) * (rank + 1)
factor = tf.constant([1.0, 10.0]) * (rank + 1)
mean_factor = np.array([1.0, 10.0]) * (size + 1) / 2
check("gradient of sum", tf.gradients(hvd.allreduce(x, op=hvd.Sum) * factor, x)[0], mean_factor * size)
check("gradient of average", tf.gradients(hvd.allreduce(x) * factor, x)[0], mean_factor)
check("gradient of broadcast", tf.gradients(hvd.broadcast(x, 0) * factor, x)[0], mean_factor if rank == 0 else [0, 0])
weight = tf.range(1.0, 2.0 * size + 1) * (rank + 1)
check("gradient of allgather", tf.gradients(hvd.allgather(x) * weight, x)[0],
      (np.arange(1, 2 * size + 1) * (size + 1) / 2)[2 * rank:2 * rank + 2])
rows = tf.constant([[float(rank)]] * size)
check("gradient of alltoall", tf.gradients(hvd.alltoall(rows) * (rank + 1.0), rows)[0], np.arange(1, size + 1).reshape(size, 1))
five = tf.range(5.0)
check("gradient of reducescatter", tf.gradients(hvd.reducescatter(five, op=hvd.Sum) * (rank + 1.0), five)[0],
      size * np.concatenate([np.full(5 // size + (r < 5 % size), r + 1.0) for r in range(size)]))

# Parts of the ranks.
evens = hvd.add_process_set(list(range(0, size, 2))) if size > 1 else hvd.global_process_set
if evens.included():
    check("process set", hvd.allreduce(tf.constant(float(rank)), op=hvd.Sum, process_set=evens), sum(evens.ranks))
    check("process set gather", hvd.allgather(tf.constant([rank]), process_set=evens), evens.ranks)

with tf.Session() as session:
    for _ in range(2):
        results = session.run([tensors for _, tensors, _ in checks])
for (name, _, expected), got in zip(checks, results):
    for a, b in zip(got, expected):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=1e-2 if "float16" in name else 1e-5, err_msg=name)
        assert np.shape(a) == np.shape(b), name

# Variables and objects.
tf.reset_default_graph()
v = tf.Variable([1.0 * rank, 2.0]), tf.get_variable("w", [], tf.float64, tf.constant_initializer(rank), use_resource=True)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(size - 1))
    np.testing.assert_array_equal(session.run(v[0]), [size - 1, 2])
    assert session.run(v[1]) == size - 1
with tf.Session() as session:  # a session has variables of its own
    assert not session.run(tf.is_variable_initialized(v[1]))
assert hvd.broadcast_object({"rank": rank, "text": "x" * 1001}, size - 1) == {"rank": size - 1, "text": "x" * 1001}
assert hvd.allgather_object([rank] * rank) == [[r] * r for r in range(size)]
hvd.barrier()

# Steps of all ranks, combined.
if size & (size - 1) == 0:
    tf.reset_default_graph()
    w = tf.Variable(np.ones(size), dtype=tf.float32)
    step = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.5, 0.9), op=hvd.Adasum).minimize(w[rank] * 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for want in (0.0, -1.9):  # each rank moves an entry of its own: by 0.5 * 2, then 0.5 * 2 * 1.9
            session.run(step)
            np.testing.assert_allclose(session.run(w), np.full(size, want), rtol=1e-5, atol=1e-6)

# A rank without data takes part with zeros.
tf.reset_default_graph()
w = tf.Variable(tf.ones([3]))
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(1.0)).minimize(tf.reduce_sum(w))
last = hvd.join()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(rank + 1):
        session.run(train)
    got = session.run(w)
    assert 0 <= session.run(last) < size
np.testing.assert_allclose(got, 1 - sum((size - step) / size for step in range(rank + 1)), rtol=1e-5, atol=1e-6)
hvd.shutdown()
assert not hvd.is_initialized()
hvd.init()
assert (hvd.rank(), hvd.size()) == (rank, size)
print(f"rank {rank} of {size} is fine")
