# SPDX-License-Identifier: Apache-2.0
"""A network of three layers on MNIST, asynchronous or synchronous, with MonitoredTrainingSession (second document)."""
import tensorflow as tf
from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets

tf.app.flags.DEFINE_string("ps_hosts", "localhost:2222", "ps hosts")
tf.app.flags.DEFINE_string("worker_hosts", "localhost:2223,localhost:2224", "worker hosts")
tf.app.flags.DEFINE_string("job_name", "worker", "'ps' or'worker'")
tf.app.flags.DEFINE_integer("task_index", 0, "Index of task within the job")
tf.app.flags.DEFINE_integer("num_workers", 2, "Number of workers")
tf.app.flags.DEFINE_boolean("is_sync", False, "using synchronous training or not")
tf.app.flags.DEFINE_integer("last_step", 2000, "global step to stop at")
tf.app.flags.DEFINE_string("checkpoint_dir", "./checkpoint_dir", "where the chief saves")

FLAGS = tf.app.flags.FLAGS


def model(images):
    """Define a simple mnist classifier"""
    net = tf.layers.dense(images, 500, activation=tf.nn.relu)
    net = tf.layers.dense(net, 500, activation=tf.nn.relu)
    net = tf.layers.dense(net, 10, activation=None)
    return net


def main(_):
    ps_hosts = FLAGS.ps_hosts.split(",")
    worker_hosts = FLAGS.worker_hosts.split(",")
    cluster = tf.train.ClusterSpec({"ps": ps_hosts, "worker": worker_hosts})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)

    if FLAGS.job_name == "ps":
        server.join()  # ps hosts only join
    elif FLAGS.job_name == "worker":
        with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % FLAGS.task_index,
                                                      cluster=cluster)):
            mnist = read_data_sets("./dataset", one_hot=True)
            images = tf.placeholder(tf.float32, [None, 784])
            labels = tf.placeholder(tf.int32, [None, 10])
            logits = model(images)
            # Labels are cast here: the op wants them in the type of the logits.
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=tf.cast(labels, tf.float32)))
            hooks = [tf.train.StopAtStepHook(last_step=FLAGS.last_step)]
            global_step = tf.train.get_or_create_global_step()
            optimizer = tf.train.AdamOptimizer(learning_rate=1e-04)
            if FLAGS.is_sync:
                optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=FLAGS.num_workers,
                                                           total_num_replicas=FLAGS.num_workers)
                hooks.append(optimizer.make_session_run_hook((FLAGS.task_index == 0)))
            train_op = optimizer.minimize(loss, global_step=global_step, aggregation_method=tf.AggregationMethod.ADD_N)
            accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1)), tf.float32))

            step, last = FLAGS.last_step, 0.0
            with tf.train.MonitoredTrainingSession(master=server.target, is_chief=(FLAGS.task_index == 0),
                                                   checkpoint_dir=FLAGS.checkpoint_dir, hooks=hooks) as mon_sess:
                while not mon_sess.should_stop():
                    img_batch, label_batch = mnist.train.next_batch(32)
                    _, ls, step, last = mon_sess.run([train_op, loss, global_step, accuracy],
                                                     feed_dict={images: img_batch, labels: label_batch})
                    if step % 100 == 0:
                        print("Train step %d, loss: %f" % (step, ls), flush=True)
            print("Done at step %d, accuracy of the last batch %.3f" % (step, last), flush=True)


if __name__ == "__main__":
    tf.app.run()
