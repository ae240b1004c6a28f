# SPDX-License-Identifier: Apache-2.0
"""REINFORCE on a small corridor, an actor-critic with tf.distributions, target networks by copying variables."""
import numpy as np
import tensorflow as tf


class Corridor:
    """Five cells; the reward is at the right end."""

    def reset(self):
        self.at = 2
        return np.eye(5)[self.at]

    def step(self, action):
        self.at = max(0, min(4, self.at + (1 if action == 1 else -1)))
        return np.eye(5)[self.at], 1.0 if self.at == 4 else -0.1, self.at in (0, 4)


class Agent:
    def __init__(self, s_size, a_size, h_size, lr):
        self.state_in = tf.placeholder(shape=[None, s_size], dtype=tf.float32)
        with tf.variable_scope("policy"):
            hidden = tf.layers.dense(self.state_in, h_size, activation=tf.nn.relu)
            self.logits = tf.layers.dense(hidden, a_size)
            self.output = tf.nn.softmax(self.logits)
        self.reward_holder = tf.placeholder(shape=[None], dtype=tf.float32)
        self.action_holder = tf.placeholder(shape=[None], dtype=tf.int32)
        self.indexes = tf.range(0, tf.shape(self.output)[0]) * tf.shape(self.output)[1] + self.action_holder
        self.responsible = tf.gather(tf.reshape(self.output, [-1]), self.indexes)
        self.loss = -tf.reduce_mean(tf.log(self.responsible) * self.reward_holder)
        tvars = tf.trainable_variables()
        self.gradient_holders = [tf.placeholder(tf.float32, name=str(i) + "_holder") for i, _ in enumerate(tvars)]
        self.gradients = tf.gradients(self.loss, tvars)
        self.update_batch = tf.train.AdamOptimizer(learning_rate=lr).apply_gradients(zip(self.gradient_holders, tvars))


def discount_rewards(r, gamma=0.9):
    out, running = np.zeros(len(r)), 0
    for t in reversed(range(len(r))):
        running = running * gamma + r[t]
        out[t] = running
    return out


tf.set_random_seed(3)
np.random.seed(3)
env, agent = Corridor(), Agent(5, 2, 8, 0.05)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    buffer = [np.zeros_like(v) for v in sess.run(tf.trainable_variables())]
    totals = []
    for episode in range(40):
        s, history = env.reset(), []
        for _ in range(10):
            probs = sess.run(agent.output, {agent.state_in: [s]})[0]
            a = int(np.random.rand() > probs[0])
            s1, r, done = env.step(a)
            history.append((s, a, r))
            s = s1
            if done:
                break
        totals.append(sum(h[2] for h in history))
        feed = {agent.reward_holder: discount_rewards([h[2] for h in history]), agent.action_holder: [h[1] for h in history],
                agent.state_in: np.vstack([h[0] for h in history])}
        for i, g in enumerate(sess.run(agent.gradients, feed)):
            buffer[i] += g
        if episode % 5 == 4:
            sess.run(agent.update_batch, dict(zip(agent.gradient_holders, buffer)))
            buffer = [g * 0 for g in buffer]
    print("mean reward", np.mean(totals[-10:]), "policy", sess.run(agent.output, {agent.state_in: np.eye(5)})[2])

tf.reset_default_graph()
tf.set_random_seed(4)
obs = tf.placeholder(tf.float32, [None, 3])


def network(scope, trainable=True):
    with tf.variable_scope(scope):
        h = tf.layers.dense(obs, 6, tf.nn.tanh, trainable=trainable)
        mu = tf.layers.dense(h, 1, tf.nn.tanh, trainable=trainable, name="mu")
        sigma = tf.layers.dense(h, 1, tf.nn.softplus, trainable=trainable, name="sigma")
        dist = tf.distributions.Normal(loc=2.0 * mu, scale=sigma + 0.1)
    return dist, tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope=scope)


pi, pi_params = network("pi")
old_pi, old_params = network("oldpi", trainable=False)
sync = [old.assign(p) for p, old in zip(pi_params, old_params)]
soft = [tf.assign(old, 0.9 * old + 0.1 * p) for p, old in zip(pi_params, old_params)]
action = tf.placeholder(tf.float32, [None, 1])
advantage = tf.placeholder(tf.float32, [None, 1])
ratio = tf.exp(pi.log_prob(action) - old_pi.log_prob(action))
surrogate = ratio * advantage
clipped = tf.clip_by_value(ratio, 0.8, 1.2) * advantage
entropy = pi.entropy()
loss = -tf.reduce_mean(tf.minimum(surrogate, clipped)) - 0.01 * tf.reduce_mean(entropy)
kl = tf.reduce_mean(tf.distributions.kl_divergence(old_pi, pi))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(sync)
    feed = {obs: np.random.randn(8, 3), action: np.random.randn(8, 1), advantage: np.random.randn(8, 1)}
    for i in range(10):
        value, divergence, _ = sess.run([loss, kl, train], feed)
        if i % 3 == 0:
            print(value, divergence)
    sess.run(soft)
    print(sess.run([tf.reduce_mean(pi.sample(1, seed=5)), entropy[0]], feed))
    cat = tf.distributions.Categorical(logits=[[0.1, 2.0, -1.0], [0.0, 0.0, 0.0]])
    print(sess.run([cat.entropy(), cat.log_prob([1, 2]), cat.mode(), cat.sample(5, seed=1)]))
    bern = tf.distributions.Bernoulli(probs=[0.2, 0.9])
    print(sess.run([bern.mean(), bern.variance(), bern.prob([1, 0]), bern.sample(seed=2), bern.entropy()]))
    uni = tf.distributions.Uniform(low=-1.0, high=[1.0, 3.0])
    print(sess.run([uni.sample(3, seed=3), uni.prob([0.5, 4.0]), uni.entropy(), uni.cdf([0.0, 2.0])]))
    normal = tf.distributions.Normal(0.0, [1.0, 2.0])
    print(sess.run([normal.cdf(1.0), normal.prob(0.5), normal.stddev(), normal.mean(), normal.sample(2, seed=4)]))
    lap, exp = tf.distributions.Laplace(1.0, 2.0), tf.distributions.Exponential([0.5, 2.0])
    print(sess.run([lap.log_prob(0.0), lap.variance(), lap.sample(2, seed=6), exp.mean(), exp.log_prob(1.0), exp.sample(seed=7)]))
    print(normal.batch_shape, normal.event_shape, uni.sample([2, 3]).shape, cat.dtype.name)
