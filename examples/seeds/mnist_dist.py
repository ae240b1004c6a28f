# SPDX-License-Identifier: Apache-2.0
"""Softmax regression on MNIST over parameter servers, with a Supervisor (first document).

Start each task in a terminal of its own:
    python -m millstream mnist_dist.py --ps_hosts=localhost:2221,localhost:2222 \
        --worker_hosts=localhost:2223,localhost:2224 --job_name=ps --task_index=0      # and 1; then worker 0 and 1
"""
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

tf.app.flags.DEFINE_string("ps_hosts", "", "Comma-separated list of hostname:port pairs")
tf.app.flags.DEFINE_string("worker_hosts", "", "Comma-separated list of hostname:port pairs")
tf.app.flags.DEFINE_string("job_name", "", "One of 'ps', 'worker'")
tf.app.flags.DEFINE_integer("task_index", 0, "Index of task within the job")
tf.app.flags.DEFINE_string("data_dir", "MNIST_data", "Folder of the MNIST files; those of the package if they are not there")
tf.app.flags.DEFINE_string("log_dir", "/tmp/train_logs", "Folder of checkpoints and events")
tf.app.flags.DEFINE_integer("train_steps", 1000, "Global steps")

FLAGS = tf.app.flags.FLAGS


def main(_):
    ps_hosts = FLAGS.ps_hosts.split(",")
    worker_hosts = FLAGS.worker_hosts.split(",")
    cluster = tf.train.ClusterSpec({"ps": ps_hosts, "worker": worker_hosts})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)

    if FLAGS.job_name == "ps":
        server.join()
    elif FLAGS.job_name == "worker":
        mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True)
        with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % FLAGS.task_index,
                                                      cluster=cluster)):
            x = tf.placeholder(tf.float32, [None, 784])
            w = tf.Variable(tf.zeros([784, 10]))
            b = tf.Variable(tf.zeros([10]))
            y = tf.matmul(x, w) + b
            y_ = tf.placeholder(tf.float32, [None, 10])
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=y, labels=y_))
            global_step = tf.Variable(0, name="global_step", trainable=False)
            train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=global_step)
            correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
            accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
            tf.scalar_summary("loss", loss)
            saver = tf.train.Saver()
            summary_op = tf.merge_all_summaries()
            init_op = tf.initialize_all_variables()

        # The summary needs a batch, so the program computes it itself: the Supervisor's own thread has none to feed.
        sv = tf.train.Supervisor(is_chief=(FLAGS.task_index == 0), logdir=FLAGS.log_dir, init_op=init_op, summary_op=None,
                                 saver=saver, global_step=global_step, save_model_secs=600)
        sess = sv.prepare_or_wait_for_session(server.target)
        sv.start_queue_runners(sess)
        step, local_step = 0, 0
        while not sv.should_stop() and step < FLAGS.train_steps:
            batch_x, batch_y = mnist.train.next_batch(100)
            _, step = sess.run([train_op, global_step], feed_dict={x: batch_x, y_: batch_y})
            if sv.is_chief and local_step % 100 == 0:
                sv.summary_computed(sess, sess.run(summary_op, feed_dict={x: batch_x, y_: batch_y}), step)
            local_step += 1
        print("Worker %d: %d local steps, global step %d, test accuracy %.4f" % (
            FLAGS.task_index, local_step, step,
            sess.run(accuracy, feed_dict={x: mnist.test.images, y_: mnist.test.labels})), flush=True)
        sv.stop()


if __name__ == "__main__":
    tf.app.run()
