# SPDX-License-Identifier: Apache-2.0
"""TensorFlow (compat.v1 graphs through a callable, its fastest way in) on the models of bench/peers/engine.py."""
import engine_common as common
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def logits_of(model, x):
    def dense(y, size, activation=None):
        inputs = y.shape[1].value
        w = tf.Variable(tf.truncated_normal([inputs, size], stddev=inputs**-0.5))
        y = tf.nn.bias_add(tf.matmul(y, w), tf.Variable(tf.zeros([size])))
        return activation(y) if activation else y

    def conv(y, size):
        inputs = y.shape[3].value
        w = tf.Variable(tf.truncated_normal([5, 5, inputs, size], stddev=(25 * inputs)**-0.5))
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(y, w, [1, 1, 1, 1], "SAME"), tf.Variable(tf.zeros([size]))))
        return tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    if model == "softmax":
        return dense(x, 10)
    if model == "mlp100":
        return dense(dense(x, 100, tf.nn.relu), 10)
    if model == "mlp500":
        return dense(dense(dense(x, 500, tf.nn.relu), 500, tf.nn.relu), 10)
    y = conv(conv(tf.reshape(x, [-1, 28, 28, 1]), 32), 64)
    return dense(dense(tf.reshape(y, [-1, 7 * 7 * 64]), 1024, tf.nn.relu), 10)


def train(model, data, batch, config, seconds):
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.float32, [None, 10])
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits_of(model, x)))
        optimizer = (tf.train.AdamOptimizer(0.001) if model.startswith("mlp") else
                     tf.train.GradientDescentOptimizer(0.5 if model == "softmax" else 0.05))
        step = optimizer.minimize(loss)
        session.run(tf.global_variables_initializer())
        run = session.make_callable(step, feed_list=[x, y])
        batches = common.Batches(*data, batch)
        return common.seconds_per_call(seconds, lambda: run(*batches()))


def executor(kind, config, seconds):
    config = tf.ConfigProto.FromString(config.SerializeToString())
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [])
        if kind == "chain":
            end = x
            for _ in range(1000):
                end = end + 1.0
            end = end.op
        else:
            end = tf.group(*[x + float(i) for i in range(1000)])
        run = session.make_callable(end, feed_list=[x])
        none = session.make_callable(tf.no_op())
        whole = common.seconds_per_call(seconds, lambda: run(0.0))
        return (whole - common.seconds_per_call(seconds / 4, none)) / 1000


def session_calls(config, seconds):
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [])
        y, none = x + 1.0, tf.no_op()
        common.report("session/noop", 1e6 * common.seconds_per_call(seconds, lambda: session.run(none)))
        common.report("session/add_feed_fetch", 1e6 * common.seconds_per_call(seconds, lambda: session.run(y, {x: 1.0})))
        call = session.make_callable(y, feed_list=[x])
        common.report("session/add_callable", 1e6 * common.seconds_per_call(seconds, lambda: call(1.0)))


def main():
    args = common.arguments()
    data = common.load(args.data)
    config = tf.ConfigProto(intra_op_parallelism_threads=args.threads, inter_op_parallelism_threads=args.threads)
    for model, batch in common.MODELS.items():
        common.report(f"train/{model}_b{batch}", 1 / train(model, data, batch, config, args.seconds))
    common.report("executor/chain_1000_adds", 1e6 * executor("chain", config, args.seconds))
    common.report("executor/parallel_1000_adds", 1e6 * executor("parallel", config, args.seconds))
    session_calls(config, args.seconds)


if __name__ == "__main__":
    main()
