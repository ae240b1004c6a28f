# SPDX-License-Identifier: Apache-2.0
"""One hidden layer on MNIST with the log lines of the third document, asynchronous or synchronous."""
import math
import tempfile
import time

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
IMAGE_PIXELS = 28
flags.DEFINE_string("data_dir", "MNIST_data", "Directory of the mnist data")
flags.DEFINE_integer("hidden_units", 100, "Number of units in the hidden layer of the NN")
flags.DEFINE_integer("train_steps", 10000, "Number of training steps to perform")
flags.DEFINE_integer("batch_size", 100, "Training batch size")
flags.DEFINE_float("learning_rate", 0.01, "Learning rate")
flags.DEFINE_string("ps_hosts", "localhost:22221", "Comma-separated list of hostname:port pairs")
flags.DEFINE_string("worker_hosts", "localhost:22222,localhost:22223", "Comma-separated list of hostname:port pairs")
flags.DEFINE_string("job_name", None, "job name: worker or ps")
flags.DEFINE_integer("task_index", None, "Index of task within the job")
flags.DEFINE_boolean("issync", False, "Whether to average the gradients of all workers")
FLAGS = flags.FLAGS


def main(unused_argv):
    if FLAGS.job_name is None or FLAGS.job_name == "":
        raise ValueError("Must specify an explicit job_name !")
    print("job_name : %s" % FLAGS.job_name)
    if FLAGS.task_index is None:
        raise ValueError("Must specify an explicit task_index!")
    print("task_index : %d" % FLAGS.task_index, flush=True)
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True) if FLAGS.job_name == "worker" else None

    ps_spec = FLAGS.ps_hosts.split(",")
    worker_spec = FLAGS.worker_hosts.split(",")
    num_worker = len(worker_spec)
    cluster = tf.train.ClusterSpec({"ps": ps_spec, "worker": worker_spec})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
        return

    is_chief = (FLAGS.task_index == 0)
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % FLAGS.task_index)):
        global_step = tf.Variable(0, name="global_step", trainable=False)
        hid_w = tf.Variable(tf.truncated_normal([IMAGE_PIXELS * IMAGE_PIXELS, FLAGS.hidden_units],
                                                stddev=1.0 / IMAGE_PIXELS), name="hid_w")
        hid_b = tf.Variable(tf.zeros([FLAGS.hidden_units]), name="hid_b")
        sm_w = tf.Variable(tf.truncated_normal([FLAGS.hidden_units, 10], stddev=1.0 / math.sqrt(FLAGS.hidden_units)),
                           name="sm_w")
        sm_b = tf.Variable(tf.zeros([10]), name="sm_b")
        x = tf.placeholder(tf.float32, [None, IMAGE_PIXELS * IMAGE_PIXELS])
        y_ = tf.placeholder(tf.float32, [None, 10])
        hid = tf.nn.relu(tf.nn.xw_plus_b(x, hid_w, hid_b))
        y = tf.nn.softmax(tf.nn.xw_plus_b(hid, sm_w, sm_b))
        cross_entropy = -tf.reduce_sum(y_ * tf.log(tf.clip_by_value(y, 1e-10, 1.0)))
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1)), tf.float32))
        opt = tf.train.AdamOptimizer(FLAGS.learning_rate)
        if FLAGS.issync:
            opt = tf.train.SyncReplicasOptimizer(opt, replicas_to_aggregate=num_worker, total_num_replicas=num_worker,
                                                 name="mnist_sync_replicas")
        train_step = opt.minimize(cross_entropy, global_step=global_step)

        local_init_op, ready_for_local_init_op = tf.train.Supervisor.USE_DEFAULT, tf.train.Supervisor.USE_DEFAULT
        if FLAGS.issync:
            local_init_op = opt.chief_init_op if is_chief else opt.local_step_init_op
            ready_for_local_init_op = opt.ready_for_local_init_op
            chief_queue_runner = opt.get_chief_queue_runner()
            init_tokens_op = opt.get_init_tokens_op()
        init_op = tf.global_variables_initializer()

    train_dir = tempfile.mkdtemp()
    sv = tf.train.Supervisor(is_chief=is_chief, logdir=train_dir, init_op=init_op, local_init_op=local_init_op,
                             ready_for_local_init_op=ready_for_local_init_op, recovery_wait_secs=1, global_step=global_step)
    sess_config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False,
                                 device_filters=["/job:ps", "/job:worker/task:%d" % FLAGS.task_index])
    if is_chief:
        print("Worker %d: Initailizing session..." % FLAGS.task_index)
    else:
        print("Worker %d: Waiting for session to be initaialized..." % FLAGS.task_index)
    sess = sv.prepare_or_wait_for_session(server.target, config=sess_config)
    print("Worker %d: Session initialization  complete." % FLAGS.task_index)
    if FLAGS.issync and is_chief:
        sess.run(init_tokens_op)
        sv.start_queue_runners(sess, [chief_queue_runner])

    time_begin = time.time()
    print("Traing begins @ %f" % time_begin, flush=True)
    local_step = 0
    while True:
        batch_xs, batch_ys = mnist.train.next_batch(FLAGS.batch_size)
        _, step = sess.run([train_step, global_step], feed_dict={x: batch_xs, y_: batch_ys})
        local_step += 1
        now = time.time()
        print("%f: Worker %d: traing step %d dome (global step:%d)" % (now, FLAGS.task_index, local_step, step))
        if step >= FLAGS.train_steps:
            break
    time_end = time.time()
    print("Training ends @ %f" % time_end)
    print("Training elapsed time:%f s" % (time_end - time_begin))
    val_feed = {x: mnist.validation.images, y_: mnist.validation.labels}
    val_xent, val_accuracy = sess.run([cross_entropy, accuracy], feed_dict=val_feed)
    print("After %d training step(s), validation cross entropy = %g" % (FLAGS.train_steps, val_xent))
    print("Validation accuracy = %.4f" % val_accuracy, flush=True)


if __name__ == "__main__":
    tf.app.run()
