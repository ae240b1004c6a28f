# SPDX-License-Identifier: Apache-2.0
"""Runs with options: traces, timelines, deadlines, partial runs, nested fetches, sparse feeds."""

import tensorflow as tf, json
from tensorflow.python.client import timeline

with tf.device("/cpu:0"):
    a = tf.random_normal([50, 50], seed=1)
    b = tf.matmul(a, a, name="mm")
with tf.device("/gpu:0"):
    c = tf.reduce_sum(b, name="rs")
try:
    tf.Session().run(c)
except tf.errors.InvalidArgumentError as e:
    print("IAE", "Cannot assign a device" in str(e) or "device" in str(e))
cfg = tf.ConfigProto(
    allow_soft_placement=True,
    log_device_placement=False,
    intra_op_parallelism_threads=2,
    inter_op_parallelism_threads=2,
    device_count={"CPU": 1},
    graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)),
)
with tf.Session(config=cfg) as s:
    md = tf.RunMetadata()
    s.run(
        c, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True), run_metadata=md
    )
    names = sorted({n.node_name for d in md.step_stats.dev_stats for n in d.node_stats})
    print([n for n in names if n in ("mm", "rs")])
    tl = timeline.Timeline(md.step_stats)
    j = json.loads(tl.generate_chrome_trace_format(show_memory=True, show_dataflow=True))
    print(sorted(j), any((e.get("name") == "MatMul" for e in j["traceEvents"])))
    try:
        s.run(tf.FIFOQueue(1, tf.int32).dequeue(), options=tf.RunOptions(timeout_in_ms=50))
    except tf.errors.DeadlineExceededError as e:
        print("DEE", e.error_code)
    try:
        tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50, allow_soft_placement=True)).run(
            tf.FIFOQueue(1, tf.int32).dequeue()
        )
    except tf.errors.DeadlineExceededError as e:
        print("DEE")
    h = s.partial_run_setup([c, b], [])
    x = tf.placeholder(tf.float32)
    y = x * 2
    z = y + 1
    h = s.partial_run_setup([y, z], [x])
    print(s.partial_run(h, y, {x: 3.0}), s.partial_run(h, z))
    f = s.make_callable([y, z], [x])
    print(f(4.0))
    print(s.run({"a": y, "b": [z, (y,)]}, {x: 1.0}))
    print(s.run([[], {}]), s.run(()), s.run(tf.no_op()))
    print(s.run([y, y], {"Placeholder:0": 2.0}) if True else 0, s.run(y, {x: [[1, 2]]}), s.run("mul:0", {x: 1.0}))
    import collections

    P = collections.namedtuple("P", "u v")
    print(s.run(P(y, z), {x: 1.0}))
    od = collections.OrderedDict([("k", y)])
    print(type(s.run(od, {x: 1.0})).__name__)
    sp = tf.sparse_placeholder(tf.float32, [2, 2])
    print(
        s.run(tf.sparse_tensor_to_dense(sp), {sp: tf.SparseTensorValue([[0, 1]], [5.0], [2, 2])}),
        s.run(sp, {sp: ([[1, 1]], [2.0], [2, 2])}),
    )
    isl = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2]), tf.constant([4, 1]))
    print(s.run(isl))
    with s.as_default():
        print(tf.get_default_session() is s, tf.constant(3).eval())
