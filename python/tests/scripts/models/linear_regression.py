# SPDX-License-Identifier: Apache-2.0
"""Linear regression the way first tutorials do it: module level, global session, eval and run on objects."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
train_X = np.asarray([3.3, 4.4, 5.5, 6.71, 6.93, 4.168, 9.779, 6.182, 7.59, 2.167, 7.042, 10.791, 5.313, 7.997, 5.654, 9.27, 3.1])
train_Y = 0.25 * train_X + 0.8 + rng.normal(0, 0.05, train_X.shape)
n_samples = train_X.shape[0]

X = tf.placeholder("float")
Y = tf.placeholder("float")
W = tf.Variable(0.3, name="weight")
b = tf.Variable(-0.2, name="bias")
pred = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * n_samples)
optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(cost)

sess = tf.InteractiveSession()
tf.global_variables_initializer().run()
for epoch in range(40):
    for (x, y) in zip(train_X, train_Y):
        sess.run(optimizer, feed_dict={X: x, Y: y})
    if (epoch + 1) % 10 == 0:
        c = cost.eval({X: train_X, Y: train_Y})
        print("Epoch:", "%04d" % (epoch + 1), "cost=", "{:.6f}".format(c), "W=", W.eval(), "b=", sess.run(b))
print("graph:", [op.name for op in tf.get_default_graph().get_operations()][:8])
print(W, b, pred, cost.op.type, optimizer.name)

# Two-dimensional inputs, a closed form and a fit by gradient descent.
data = rng.rand(32, 3).astype(np.float32)
target = data.dot(np.array([[1.5], [-2.0], [0.5]], np.float32)) + 0.25
design = tf.concat([tf.constant(data), tf.ones([32, 1])], axis=1)
closed = tf.matmul(tf.matrix_inverse(tf.matmul(design, design, transpose_a=True)), tf.matmul(tf.transpose(design), target))
print("closed form", closed.eval().ravel())
weights = tf.Variable(tf.zeros([4, 1]), name="weights")
loss = tf.reduce_mean(tf.square(tf.matmul(design, weights) - target)) + 1e-4 * tf.nn.l2_loss(weights)
step = tf.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[weights])
weights.initializer.run()
for i in range(200):
    _, value = sess.run([step, loss])
    if i % 50 == 0:
        print(i, value)
print("fitted", weights.eval().ravel())
sess.close()
