# SPDX-License-Identifier: Apache-2.0
"""Critical sections, functions that are called by device, and event files that graphs write."""
from tensorflow.python.framework import function

from record import TEMP_DIR, apply, script, tf


def cases():
  with script('MutexV2', 'sections') as s:
    mutex = apply('MutexV2', shared_name='m')[0]
    total = tf.Variable(0, name='total', use_resource=False)
    sections = []
    for _ in range(4):
      lock = apply('MutexLock', mutex=mutex)[0]
      with tf.control_dependencies([lock]):
        read = tf.identity(total)
        with tf.control_dependencies([read]):
          added = tf.assign(total, read + 1)
      with tf.control_dependencies([added]):
        sections.append(apply('ConsumeMutexLock', mutex_lock=lock).op)
    s.run(targets=total.initializer)
    s.run(targets=tf.group(*sections))
    s.run(total)
    s.run(targets=apply('ConsumeMutexLock', mutex_lock=apply('EmptyTensorMap')[0]).op, error=True)
  with script('RemoteCall', 'here') as s:
    @function.Defun(tf.float32, tf.int32, func_name='SumOf')
    def add(x, y):
      return x + tf.cast(y, tf.float32), y * 2
    s.run(apply('RemoteCall', target=tf.constant('/device:CPU:0'), args=[tf.constant(1.5), tf.constant(2)], Tout=[tf.float32, tf.int32],
                f=add).outputs)
  with script('SummaryWriter', 'events') as s:
    writer = apply('SummaryWriter', shared_name='w')[0]
    logdir = tf.placeholder(tf.string, [])
    scalar = lambda: apply('WriteScalarSummary', writer=writer, step=tf.constant(3, tf.int64), tag=tf.constant('loss'), value=tf.constant(0.5)).op
    s.run(targets=scalar(), error=True)
    s.run(targets=apply('CreateSummaryFileWriter', writer=writer, logdir=logdir, max_queue=tf.constant(10), flush_millis=tf.constant(1000),
                        filename_suffix=tf.constant('.v2')).op, feeds={logdir: TEMP_DIR + '/events'})
    s.run(targets=scalar())
    summary = tf.Summary(value=[tf.Summary.Value(tag='x', simple_value=1.0)]).SerializeToString()
    step = tf.constant(4, tf.int64)
    s.run(targets=apply('WriteRawProtoSummary', writer=writer, step=step, tensor=tf.constant(summary)).op)
    s.run(targets=apply('WriteSummary', writer=writer, step=step, tensor=tf.constant([1, 2]), tag=tf.constant('t'), summary_metadata=tf.constant(b'')).op)
    s.run(targets=apply('WriteGraphSummary', writer=writer, step=step, tensor=tf.constant(b'')).op)
    s.run(targets=apply('ImportEvent', writer=writer, event=tf.constant(tf.Event(step=5).SerializeToString())).op)
    s.run(targets=apply('ImportEvent', writer=writer, event=tf.constant(b'\\xff')).op, error=True)
    s.run(targets=apply('FlushSummaryWriter', writer=writer).op)
    s.run(targets=apply('CloseSummaryWriter', writer=writer).op)
    s.run(targets=scalar(), error=True)
