# SPDX-License-Identifier: Apache-2.0
"""MNIST with a sigmoid layer, name scopes, summaries and flags at module level (fourth document)."""
import sys
import time

import tensorflow as tf

import input_data

tf.app.flags.DEFINE_string("job_name", "", "Either 'ps' or 'worker'")
tf.app.flags.DEFINE_integer("task_index", 0, "Index of task within the job")
tf.app.flags.DEFINE_string("ps_hosts", "localhost:2222", "")
tf.app.flags.DEFINE_string("worker_hosts", "localhost:2223,localhost:2224", "")
tf.app.flags.DEFINE_boolean("sync", False, "The replicas' gradients are averaged")
tf.app.flags.DEFINE_integer("epochs", 1, "")
tf.app.flags.DEFINE_integer("batches", 550, "Batches of an epoch")
tf.app.flags.DEFINE_string("logs_path", "/tmp/mnist/1", "")
FLAGS = tf.app.flags.FLAGS

parameter_servers = FLAGS.ps_hosts.split(",")
workers = FLAGS.worker_hosts.split(",")
cluster = tf.train.ClusterSpec({"ps": parameter_servers, "worker": workers})
server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)

batch_size = 100
learning_rate = 0.5
training_epochs = FLAGS.epochs

if FLAGS.job_name == "ps":
    server.join()
    sys.exit(0)

mnist = input_data.read_data_sets("MNIST_data", one_hot=True)
# Between-graph replication
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster)):
    # count the number of updates (in float32, as the document does)
    global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
    with tf.name_scope("input"):
        x = tf.placeholder(tf.float32, shape=[None, 784], name="x-input")
        y_ = tf.placeholder(tf.float32, shape=[None, 10], name="y-input")
    tf.set_random_seed(1)
    with tf.name_scope("weights"):
        W1 = tf.Variable(tf.random_normal([784, 100]))
        W2 = tf.Variable(tf.random_normal([100, 10]))
    with tf.name_scope("biases"):
        b1 = tf.Variable(tf.zeros([100]))
        b2 = tf.Variable(tf.zeros([10]))
    with tf.name_scope("softmax"):
        z2 = tf.add(tf.matmul(x, W1), b1)
        a2 = tf.nn.sigmoid(z2)
        z3 = tf.add(tf.matmul(a2, W2), b2)
        y = tf.nn.softmax(z3)
    with tf.name_scope("cross_entropy"):
        # Clipped: the document's log(y) is not a number where a probability has become 0.
        cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(tf.clip_by_value(y, 1e-10, 1.0)), reduction_indices=[1]))
    with tf.name_scope("train"):
        grad_op = tf.train.GradientDescentOptimizer(learning_rate)
        if FLAGS.sync:
            rep_op = tf.train.SyncReplicasOptimizer(grad_op, replicas_to_aggregate=len(workers), replica_id=FLAGS.task_index,
                                                    total_num_replicas=len(workers), use_locking=True)
            train_op = rep_op.minimize(cross_entropy, global_step=global_step)
            init_token_op = rep_op.get_init_tokens_op()
            chief_queue_runner = rep_op.get_chief_queue_runner()
        else:
            train_op = grad_op.minimize(cross_entropy, global_step=global_step)
    with tf.name_scope("Accuracy"):
        correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
        accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))
    tf.scalar_summary("cost", cross_entropy)
    tf.scalar_summary("accuracy", accuracy)
    summary_op = tf.merge_all_summaries()
    init_op = tf.initialize_all_variables()
    print("Variables initialized ...")

sv = tf.train.Supervisor(is_chief=(FLAGS.task_index == 0), global_step=global_step, init_op=init_op)
begin_time = time.time()
frequency = 100
with sv.prepare_or_wait_for_session(server.target) as sess:
    if FLAGS.sync and FLAGS.task_index == 0:
        sv.start_queue_runners(sess, [chief_queue_runner])
        sess.run(init_token_op)
    writer = tf.train.SummaryWriter(FLAGS.logs_path + "/%d" % FLAGS.task_index, graph=tf.get_default_graph())
    start_time = time.time()
    for epoch in range(training_epochs):
        batch_count = min(FLAGS.batches, int(mnist.train.num_examples / batch_size))
        count = 0
        # Updates are common to synchronous workers: they go on until there are enough, whoever computed them.
        for i in range(batch_count if not FLAGS.sync else 10 * batch_count):
            batch_x, batch_y = mnist.train.next_batch(batch_size)
            _, cost, summary, step = sess.run([train_op, cross_entropy, summary_op, global_step],
                                              feed_dict={x: batch_x, y_: batch_y})
            writer.add_summary(summary, step)
            count += 1
            if count % frequency == 0 or i + 1 == batch_count:
                elapsed_time = time.time() - start_time
                start_time = time.time()
                print("Step: %d," % (step + 1), " Epoch: %2d," % (epoch + 1), " Batch: %3d of %3d," % (i + 1, batch_count),
                      " Cost: %.4f," % cost, " AvgTime: %3.2fms" % float(elapsed_time * 1000 / frequency), flush=True)
                count = 0
            if FLAGS.sync and sess.run(global_step) >= (epoch + 1) * batch_count:
                break
    print("Test-Accuracy: %2.2f" % sess.run(accuracy, feed_dict={x: mnist.test.images, y_: mnist.test.labels}))
    print("Total Time: %3.2fs" % float(time.time() - begin_time))
    print("Final Cost: %.4f" % cost)
sv.stop()
print("done", flush=True)
