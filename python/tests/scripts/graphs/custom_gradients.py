# SPDX-License-Identifier: Apache-2.0
"""RegisterGradient with gradient_override_map, tf.custom_gradient, Defun, stop_gradient, reversal; hessians and Jacobians."""
import numpy as np
import tensorflow as tf


@tf.RegisterGradient("ClippedIdentity")
def _clipped(op, grad):
    return tf.clip_by_value(grad, -0.5, 0.5)


@tf.RegisterGradient("GuidedRelu")
def _guided_relu_grad(op, grad):
    return tf.where(0. < grad, tf.nn.relu(grad) * tf.cast(op.outputs[0] > 0., grad.dtype), tf.zeros_like(grad))


@tf.RegisterGradient("StraightThrough")
def _straight(op, grad):
    return [grad]


class FlipGradientBuilder(object):
    """Gradient reversal, as in domain adaptation."""

    def __init__(self):
        self.num_calls = 0

    def __call__(self, x, l=1.0):
        grad_name = "FlipGradient%d" % self.num_calls

        @tf.RegisterGradient(grad_name)
        def _flip_gradients(op, grad):
            return [tf.negative(grad) * l]

        g = tf.get_default_graph()
        with g.gradient_override_map({"Identity": grad_name}):
            y = tf.identity(x)
        self.num_calls += 1
        return y


flip_gradient = FlipGradientBuilder()
sess = tf.Session()
x = tf.constant([-2.0, -0.3, 0.4, 3.0])
with tf.get_default_graph().gradient_override_map({"Identity": "ClippedIdentity"}):
    clipped = tf.identity(x, name="clipped")
print(sess.run(tf.gradients(tf.reduce_sum(clipped ** 2), x)[0]))
with tf.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
    guided = tf.nn.relu(x)
print(sess.run(tf.gradients(guided, x, grad_ys=tf.constant([1.0, 1.0, -1.0, 2.0]))[0]))
with tf.get_default_graph().gradient_override_map({"Round": "StraightThrough", "Sign": "StraightThrough"}):
    binary = tf.sign(x) + tf.round(x)
print(sess.run([binary, tf.gradients(binary, x)[0]]))
print(sess.run([tf.gradients(tf.square(flip_gradient(x, 0.3)), x)[0], tf.gradients(flip_gradient(x), x)[0]]))
print(x.op.type, clipped.op.get_attr("_gradient_op_type"))


@tf.custom_gradient
def log1pexp(v):
    e = tf.exp(v)

    def grad(dy):
        return dy * (1 - 1 / (1 + e))
    return tf.log(1 + e), grad


big = tf.constant(100.)
print(sess.run([log1pexp(big), tf.gradients(log1pexp(big), big)[0], tf.gradients(log1pexp(x), x)[0]]))


def py_func_with_gradient(func, inp, Tout, stateful=True, name=None, grad=None):
    rnd_name = "PyFuncGrad" + str(7)
    tf.RegisterGradient(rnd_name)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd_name, "PyFuncStateless": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def square(v):
    with tf.name_scope("MySquare"):
        y = py_func_with_gradient(np.square, [v], [tf.float32], grad=lambda op, g: g * 20 * op.inputs[0])
        return y[0]


squared = square(x)
print(sess.run([squared, tf.gradients(squared, x)[0]]))

a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
v = tf.Variable([0.5, -1.0])
sess.run(v.initializer)
f = tf.reduce_sum(tf.matmul(a, tf.expand_dims(v, 1)) ** 2) + tf.reduce_prod(v)
print(sess.run(tf.hessians(f, v)), sess.run(tf.gradients(tf.gradients(f, v)[0][0], v)))
hv = tf.gradients(tf.reduce_sum(tf.gradients(f, v)[0] * tf.stop_gradient(tf.constant([1.0, 2.0]))), v)[0]
print(sess.run(hv))
y0, y1 = tf.sin(v), v * v
print(sess.run(tf.gradients([y0, y1], [v], grad_ys=[tf.constant([1.0, 0.0]), tf.constant([2.0, 3.0])])))
print(tf.gradients(y0, a), tf.gradients(tf.stop_gradient(y0), v), sess.run(tf.gradients(y0, [v, a], unconnected_gradients="zero"))[1])
jac = tf.stack([tf.gradients(t, v)[0] for t in tf.unstack(tf.matmul(a, tf.expand_dims(v, 1))[:, 0] ** 2)])
print(sess.run(jac))
print(sess.run(tf.gradients(v[0] * y0 + y1, v, stop_gradients=[y0])))
gathered = tf.gather(v, [1, 1, 0])
g = tf.gradients(gathered * [1.0, 2.0, 3.0], v)[0]
print(type(g).__name__, sess.run(tf.convert_to_tensor(g)))


def xent_grad(op, grad_loss, grad_grad):
    return grad_loss, None


@tf.RegisterGradient("Twice")
def _twice(op, *grads):
    return [2 * g for g in grads]


with tf.Graph().as_default() as graph:
    with tf.Session() as s2:
        t = tf.constant([1.0, 2.0])
        with graph.gradient_override_map({"Tanh": "Twice"}):
            out = tf.tanh(t)
        print(s2.run(tf.gradients(out, t)))
        with graph.gradient_override_map({"Exp": "NoSuchGradient"}):
            e = tf.exp(t)
        try:
            tf.gradients(e, t)
        except LookupError:
            print("LookupError")
sess.close()
