# SPDX-License-Identifier: Apache-2.0
"""Keras layers and models written as configurations and made anew from these: JSON, clones, layers of one's own."""

import numpy as np
import tensorflow as tf

L = tf.keras.layers


def show(name, fn):
    try:
        print(name, fn())
    except (ValueError, NotImplementedError) as e:
        print(name, "raised", type(e).__name__)


for l in [
    L.Dense(3, "relu", kernel_regularizer=tf.keras.regularizers.l2(0.5), name="d"),
    L.Conv2D(4, 3, padding="same", name="c"),
    L.MaxPooling2D(name="m"),
    L.Dropout(0.25, name="dr"),
    L.BatchNormalization(momentum=0.9, name="bn"),
    L.Embedding(5, 2, name="e"),
    L.LSTM(4, return_sequences=True, name="l"),
    L.Flatten(name="f"),
    L.Reshape((2, 3), name="r"),
    L.Activation("tanh", name="a"),
    L.LeakyReLU(name="lr"),
    L.Concatenate(axis=1, name="cc"),
]:
    c = l.get_config()
    keys = [
        k
        for k in (
            "units",
            "activation",
            "filters",
            "kernel_size",
            "strides",
            "padding",
            "pool_size",
            "rate",
            "momentum",
            "epsilon",
            "input_dim",
            "output_dim",
            "return_sequences",
            "target_shape",
            "alpha",
            "axis",
            "name",
            "trainable",
        )
        if k in c
    ]
    print(
        type(l).__name__,
        {
            k: c[k] if not isinstance(c[k], (list, tuple)) else tuple(c[k])
            for k in keys
            if k not in ("axis", "alpha", "strides", "epsilon")
        },
    )
    if "kernel_initializer" in c:
        print(c["kernel_initializer"]["class_name"])
    k = type(l).from_config(c)
    print(k.name == l.name)
a = tf.keras.Input((4,), name="a")
b = tf.keras.Input((4,), name="b")
d = L.Dense(3, name="shared")
x = L.add([d(a), d(b)], name="sum")
y = L.Dense(1, name="y")(L.concatenate([x, a], name="cat"))
m = tf.keras.Model([a, b], [y, x], name="two")
c = m.get_config()
print(c["name"], [l["name"] for l in c["layers"]], c["input_layers"], c["output_layers"])
print({l["name"]: [[q[:3] for q in n] for n in l["inbound_nodes"]] for l in c["layers"]})
m2 = tf.keras.models.model_from_json(m.to_json())
m2.set_weights(m.get_weights())
v = [np.ones((2, 4), "f"), np.zeros((2, 4), "f")]
print([np.allclose(p, q) for p, q in zip(m.predict(v), m2.predict(v))])
m3 = tf.keras.models.clone_model(m)
print(m3.count_params() == m.count_params(), len(m3.layers))


class Twice(L.Layer):
    def __init__(self, k, **kw):
        super(Twice, self).__init__(**kw)
        self.k = k

    def call(self, x):
        return x * self.k

    def get_config(self):
        c = super(Twice, self).get_config()
        c["k"] = self.k
        return c


class NoConf(L.Layer):
    def __init__(self, k, **kw):
        super(NoConf, self).__init__(**kw)
        self.k = k

    def call(self, x):
        return x


s = tf.keras.Sequential([L.Dense(2, input_shape=(3,)), Twice(4, name="tw")], name="sq")
print(sorted(Twice(4).get_config()))
show("no conf", lambda: NoConf(1).get_config())
show("unknown", lambda: tf.keras.models.model_from_json(s.to_json()))
t = tf.keras.models.model_from_json(s.to_json(), {"Twice": Twice})
print(t.layers[-1].k, t.name)
with tf.keras.utils.custom_object_scope({"Twice": Twice}):
    print(tf.keras.models.model_from_json(s.to_json()).layers[-1].name)
bi = L.Bidirectional(L.LSTM(3), name="bi")
tb = L.TimeDistributed(L.Dense(2), name="td")
print(type(L.deserialize(L.serialize(bi))).__name__, type(type(tb).from_config(tb.get_config()).layer).__name__)
print(tf.keras.Sequential.from_config(s.get_config(), {"Twice": Twice}).count_params())


class Own(tf.keras.Model):
    def call(self, x):
        return x
