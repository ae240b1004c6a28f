# SPDX-License-Identifier: Apache-2.0
"""tf.keras in graphs and sessions: layers on tensors, models that are fitted, functional models, callbacks, the backend."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.models import Sequential

K = tf.keras.backend
rng = np.random.RandomState(0)
X = rng.randn(40, 6).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 0.5).astype(np.int64)
ONE_HOT = tf.keras.utils.to_categorical(Y, 3)
IMAGES = rng.rand(8, 10, 10, 3).astype(np.float32)
WORDS = rng.randint(0, 12, [8, 5])


def show(title, value):
    print(title, np.round(np.asarray(value, np.float64), 4).tolist())


def fill(model_or_layer):
    """Values that depend on the shapes only."""
    model_or_layer.set_weights([np.random.RandomState(sum(w.shape) + i).uniform(-0.3 if w.ndim > 1 else 0.1, 0.3, w.shape)
                                for i, w in enumerate(model_or_layer.get_weights())])


# Layers on tensors, in a session of the program.
x = tf.placeholder(tf.float32, [None, 6], name="x")
dense = layers.Dense(4, activation="relu", kernel_initializer="ones", kernel_regularizer=tf.keras.regularizers.l2(0.1))
h = dense(x)
again = dense(x + 1.0)
out = layers.Dense(2, use_bias=False, kernel_initializer=tf.keras.initializers.Constant(0.5), name="last")(h)
print([v.name for v in dense.weights], [v.name for v in tf.trainable_variables()], out.shape, len(dense.losses))
with tf.variable_scope("outer"):
    inner = layers.Dense(1)
    inner(x)
print([v.name for v in inner.variables])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    show("out", sess.run([out[:2], again[:2, :2]], {x: X}))
    show("regularizer", sess.run(dense.losses))

K.clear_session()
image = tf.placeholder(tf.float32, [None, 10, 10, 3])
stack = [layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"), layers.BatchNormalization(), layers.MaxPooling2D(),
         layers.SeparableConv2D(5, 2), layers.LeakyReLU(0.1), layers.Flatten(), layers.Dropout(0.5), layers.Dense(3, "softmax")]
y = image
for layer in stack:
    y = layer(y)
    print(layer.name, y.shape, [v.name for v in layer.weights])
more = [layers.GlobalAveragePooling2D()(image), layers.ZeroPadding2D(1)(image)[:, 0], layers.UpSampling2D(2)(image)[:, 0, 0],
        layers.Conv2DTranspose(2, 3, strides=2, kernel_initializer="ones")(image)[:, 3, 3], layers.AveragePooling2D(5)(image),
        layers.Permute((3, 1, 2))(image)[:, :, 0, 0], layers.Reshape((5, -1))(image)[:, 1, :4], layers.Cropping2D(4)(image),
        layers.DepthwiseConv2D(2, depthwise_initializer="ones")(image)[:, 0, 0]]
sess = K.get_session()
for layer in stack:
    if layer.weights:
        fill(layer)
show("convnet", sess.run(y, {image: IMAGES[:2]}))
for value in sess.run(more, {image: IMAGES[:2]}):
    show("more", value[0])
print(len(stack[1].updates))

K.clear_session()
words = tf.placeholder(tf.int32, [None, 5])
embedding = layers.Embedding(12, 3, mask_zero=True)
embedded = embedding(words)
parts = [layers.LSTM(4, return_sequences=True), layers.GRU(3), layers.SimpleRNN(2, go_backwards=True),
         layers.Bidirectional(layers.LSTM(2, return_sequences=True)), layers.TimeDistributed(layers.Dense(2))]
outs = [p(embedded) for p in parts]
for p in parts:
    print([v.shape.as_list() for v in p.weights])
fill(embedding)
for p in parts:
    fill(p)
for value in K.get_session().run(outs, {words: WORDS}):
    show("rnn", value[:2])

# Models.
K.clear_session()
model = Sequential([layers.Dense(5, activation="tanh", input_shape=(6,)), layers.Dropout(0.0), layers.Dense(3, activation="softmax")])
print([v.name for v in model.weights], model.output_shape, model.count_params(), [l.name for l in model.layers])
for optimizer in (tf.keras.optimizers.SGD(lr=0.5, momentum=0.5), "adam", tf.keras.optimizers.RMSprop(0.01), "adagrad",
                  tf.train.GradientDescentOptimizer(0.1), tf.keras.optimizers.SGD(0.1, decay=0.1, clipvalue=0.01)):
    fill(model)
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(X, Y, batch_size=8, epochs=3, shuffle=False, verbose=0, validation_data=(X[:10], Y[:10]))
    print(sorted(history.history))
    show("fit", [history.history[k] for k in sorted(history.history)])
    show("evaluate", model.evaluate(X, Y, verbose=0))
show("predict", model.predict(X[:3]))
show("classes", model.predict(X).argmax(-1))
fill(model)
model.compile("sgd", "categorical_crossentropy", metrics=["categorical_accuracy", "mse"])
show("batch", model.train_on_batch(X[:8], ONE_HOT[:8]))
show("weights", model.fit(X, ONE_HOT, sample_weight=np.arange(40) / 40.0, shuffle=False, verbose=0, epochs=2).history["loss"])
show("class weights", model.fit(X, ONE_HOT, class_weight={0: 1.0, 1: 2.0, 2: 0.5}, shuffle=False, verbose=0).history["loss"])

K.clear_session()
a, b = tf.keras.Input((6,), name="a"), tf.keras.Input(shape=(2,), name="b")
shared = layers.Dense(4, activation="sigmoid", name="shared")
joined = layers.concatenate([shared(a), layers.Dense(4, name="beside")(b)])
score = layers.Dense(1, name="score")(layers.add([joined, joined]))
kind = layers.Dense(3, activation="softmax", name="kind")(layers.Lambda(lambda t: t * 2.0)(joined))
both = tf.keras.Model(inputs=[a, b], outputs=[score, kind])
fill(both)
both.compile("sgd", {"score": "mse", "kind": "sparse_categorical_crossentropy"}, loss_weights=[0.5, 2.0], metrics={"kind": ["accuracy"]})
history = both.fit([X, X[:, :2]], [X[:, 3], Y], epochs=2, batch_size=10, shuffle=False, verbose=0)
print(sorted(history.history), both.output_names)
show("two", [history.history[k] for k in sorted(history.history)])
show("two outputs", [v[:2].sum() for v in both.predict([X, X[:, :2]])])
other = both([tf.constant(X[:2]), tf.constant(X[:2, :2])])
show("called again", K.get_session().run(other)[0])

# Losses, activations, the backend.
K.clear_session()
t, p = tf.constant([[0.0, 1.0], [1.0, 0.0]]), tf.constant([[0.2, 0.7], [0.6, 0.5]])
names = ("mean_squared_error mean_absolute_error mean_absolute_percentage_error mean_squared_logarithmic_error hinge squared_hinge "
         "categorical_hinge logcosh categorical_crossentropy binary_crossentropy kullback_leibler_divergence poisson").split()
for name in names:
    show(name, K.eval(getattr(tf.keras.losses, name)(t, p)))
show("classes of losses", K.get_session().run([
    tf.keras.losses.MeanSquaredError()(t, p), tf.keras.losses.BinaryCrossentropy(from_logits=True)(t, p),
    tf.keras.losses.CategoricalCrossentropy(label_smoothing=0.1)(t, p), tf.keras.losses.Huber()(t, p * 4),
    tf.keras.losses.SparseCategoricalCrossentropy()([1, 0], p)]))
v = tf.constant([[-3.0, -0.5, 0.0, 0.7, 4.0]])
for name in "softmax elu selu softplus softsign relu tanh sigmoid exponential hard_sigmoid linear".split():
    show(name, K.eval(tf.keras.activations.get(name)(v)))
show("relu", K.eval(tf.keras.activations.relu(v, alpha=0.1, max_value=2.0)))
kvar = K.variable([[1.0, 2.0], [3.0, 4.0]], name="kvar")
K.set_value(kvar, [[2.0, 2.0], [3.0, 4.0]])
show("backend", [K.eval(K.sum(kvar)), K.eval(K.mean(kvar, axis=0))[1], K.eval(K.dot(kvar, kvar))[0, 0], K.int_shape(kvar)[0], K.epsilon()])
fed = K.placeholder((None, 2))
show("function", K.function([fed], [fed * 2.0])([np.ones((1, 2))])[0])
print(K.floatx(), K.image_data_format(), tf.keras.preprocessing.sequence.pad_sequences([[1, 2, 3], [4]], maxlen=2).tolist())
tokens = tf.keras.preprocessing.text.Tokenizer(num_words=5)
tokens.fit_on_texts(["the cat sat", "The dog, the end."])
print(tokens.texts_to_sequences(["the dog", "a cat"]), tokens.word_index)
