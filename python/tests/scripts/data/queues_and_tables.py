# SPDX-License-Identifier: Apache-2.0
"""Queues of every kind, accumulators, runners, readers, tables that change."""

import tensorflow as tf, numpy as np, threading, time

sess = tf.InteractiveSession()
q = tf.PriorityQueue(10, [tf.string], [[]], name="pq")
sess.run(q.enqueue_many([[5, 1, 3], ["e", "a", "c"]]))
print([sess.run(q.dequeue()) for _ in range(3)], q.size().eval())
r = tf.RandomShuffleQueue(10, 2, [tf.int32, tf.float32], shapes=[[], [2]], seed=3)
sess.run(r.enqueue_many([list(range(6)), np.ones([6, 2])]))
print(sess.run(r.dequeue_many(3))[0].tolist(), r.size().eval())
sess.run(r.close())
print(sess.run(r.dequeue_up_to(10))[0].shape, r.is_closed().eval())
p = tf.PaddingFIFOQueue(10, [tf.int32], shapes=[[None]])
for k in (1, 3, 2):
    sess.run(p.enqueue([[k] * k]))
print(sess.run(p.dequeue_many(3)))
f = tf.FIFOQueue(3, [tf.int32, tf.string], names=["a", "b"], shapes=[[], []])
sess.run(f.enqueue({"a": 1, "b": "x"}))
print(sess.run(f.dequeue()), f.names, f.dtypes, f.shapes, f.name)
b = tf.FIFOQueue(1, tf.int32)
e = b.enqueue(1)
d = b.dequeue()
out = []
t = threading.Thread(target=lambda: [out.append(int(sess.run(d))) for _ in range(5)])
t.start()
[sess.run(e) for _ in range(5)]
t.join()
print(out)
c = tf.FIFOQueue(2, tf.float32)
cl = c.close(cancel_pending_enqueues=True)
try:
    sess.run(cl)
    sess.run(c.enqueue(1.0))
except tf.errors.CancelledError as x:
    print("Cancelled")
except tf.errors.AbortedError as x:
    print("Aborted")
try:
    tf.FIFOQueue(2, tf.float32, shapes=[[]]).enqueue([[1.0, 2.0]])
except ValueError as x:
    print("VE")
qs = tf.QueueBase.from_list(tf.constant(0), [b, b])
print(qs.dtypes)
a = tf.ConditionalAccumulator(tf.float32, shape=[2], reduction_type="MEAN")
sess.run([a.apply_grad([1.0, 2.0], local_step=0), a.apply_grad([3.0, 4.0], local_step=0)])
print(a.num_accumulated().eval(), a.take_grad(2).eval())
sess.run(a.set_global_step(5))
sess.run(a.apply_grad([9.0, 9.0], local_step=3))
print(a.num_accumulated().eval())
sa = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 1])
sess.run(sa.apply_grad([1], [[2.0]], grad_shape=[4, 1]))
sess.run(sa.apply_grad([1, 3], [[4.0], [6.0]]))
g = sa.take_indexed_slices_grad(2)
print(sess.run(g))
bx = [
    tf.train.batch([tf.fill([tf.cast(i, tf.int32)], i)], 3, dynamic_pad=True)
    for i in [tf.train.range_input_producer(6, shuffle=False).dequeue() + 1]
]
bl = tf.train.batch_join([[tf.constant(7), tf.constant([1.0, 2.0])]], 2)
sb = tf.train.shuffle_batch_join([[tf.constant(3)]], 2, 20, 5, enqueue_many=False)
co = tf.train.Coordinator()
th = tf.train.start_queue_runners(sess, co)
print(sess.run(bx[0]))
print(sess.run(bl))
print(sess.run(sb))
co.request_stop()
co.join(th, stop_grace_period_secs=5)
print(all((not x.is_alive() for x in th)))
m = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
sess.run(m.insert(["a", "b"], tf.constant([1, 2], tf.int64)))
print(sess.run(m.lookup(tf.constant(["b", "z"]))), sess.run(m.size()))
sess.run(m.remove(tf.constant(["a"])))
print(sess.run(m.export()))
import tempfile, os

vf = os.path.join(tempfile.mkdtemp(), "v.txt")
open(vf, "w").write("x\ny\nz\n")
t1 = tf.lookup.StaticHashTable(
    tf.lookup.TextFileInitializer(
        vf, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    ),
    -1,
)
t2 = tf.lookup.StaticVocabularyTable(
    tf.lookup.TextFileInitializer(
        vf, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    ),
    3,
)
tf.tables_initializer().run()
print(t1.lookup(tf.constant(["y", "q"])).eval(), t2.lookup(tf.constant(["y", "q", "w"])).eval(), t2.size().eval())
st = tf.train.QueueRunner(
    b,
    [e, e],
    close_op=b.close(),
    cancel_op=b.close(cancel_pending_enqueues=True),
    queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
)
print(st.name, len(st.enqueue_ops), st.exceptions_raised)
pr = st.to_proto()
print(pr.queue_name, list(pr.enqueue_op_name))
print(tf.train.QueueRunner.from_proto(pr).name)
rd = tf.TextLineReader(skip_header_lines=1)
fq = tf.FIFOQueue(2, tf.string, shapes=[[]])
sess.run(fq.enqueue(vf))
sess.run(fq.close())
k, v = rd.read(fq)
print(sess.run(v), sess.run(rd.read_up_to(fq, 5))[1], rd.num_records_produced().eval())
wf = tf.WholeFileReader()
fq2 = tf.FIFOQueue(1, tf.string)
sess.run(fq2.enqueue(vf))
print(sess.run(wf.read(fq2))[1])
fx = tf.FixedLengthRecordReader(2)
fq3 = tf.FIFOQueue(1, tf.string)
sess.run(fq3.enqueue(vf))
print(sess.run(fx.read(fq3))[1])
ir = tf.IdentityReader()
fq4 = tf.FIFOQueue(1, tf.string)
sess.run(fq4.enqueue("zz"))
print(sess.run(ir.read(fq4)))
