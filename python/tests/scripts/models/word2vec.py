# SPDX-License-Identifier: Apache-2.0
"""Skip-gram with NCE and sampled softmax losses, nearest words by cosine similarity."""
import collections
import random

import numpy as np
import tensorflow as tf

text = ("the quick brown fox jumps over the lazy dog while the slow brown bear sleeps near the old river and the quick "
        "dog runs over the green field near the river where the old bear and the lazy fox sleep " * 12).split()
vocabulary_size = 24
count = [["UNK", -1]]
count.extend(sorted(collections.Counter(text).items(), key=lambda kv: (-kv[1], kv[0]))[:vocabulary_size - 1])
dictionary = {word: i for i, (word, _) in enumerate(count)}
reverse_dictionary = dict(zip(dictionary.values(), dictionary.keys()))
data = [dictionary.get(w, 0) for w in text]
random.seed(0)
data_index = 0


def generate_batch(batch_size, num_skips, skip_window):
    global data_index
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    for _ in range(span):
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    for i in range(batch_size // num_skips):
        context = [w for w in range(span) if w != skip_window]
        for j, w in enumerate(random.sample(context, num_skips)):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[w]
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    return batch, labels


batch_size, embedding_size, num_sampled = 16, 12, 6
graph = tf.Graph()
with graph.as_default():
    tf.set_random_seed(5)
    train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
    train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
    valid_dataset = tf.constant([dictionary["dog"], dictionary["river"], dictionary["quick"]], dtype=tf.int32)
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0), name="embeddings")
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        nce_weights = tf.Variable(tf.truncated_normal([vocabulary_size, embedding_size], stddev=1.0 / np.sqrt(embedding_size)))
        nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    loss = tf.reduce_mean(tf.nn.nce_loss(weights=nce_weights, biases=nce_biases, labels=train_labels, inputs=embed,
                                         num_sampled=num_sampled, num_classes=vocabulary_size))
    softmax = tf.reduce_mean(tf.nn.sampled_softmax_loss(
        nce_weights, nce_biases, train_labels, embed, num_sampled, vocabulary_size,
        sampled_values=tf.nn.uniform_candidate_sampler(tf.cast(train_labels, tf.int64), 1, num_sampled, True,
                                                               vocabulary_size, seed=3)))
    optimizer = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    adagrad = tf.train.AdagradOptimizer(0.2).minimize(softmax)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    normalized_embeddings = embeddings / norm
    similarity = tf.matmul(tf.nn.embedding_lookup(normalized_embeddings, valid_dataset), normalized_embeddings, transpose_b=True)
    gradient = tf.gradients(loss, embeddings)[0]
    init = tf.global_variables_initializer()
print(type(gradient).__name__, gradient.values.name.split("/")[0])

with tf.Session(graph=graph) as session:
    init.run()
    average_loss = 0
    for step in range(200):
        inputs, labels = generate_batch(batch_size, 2, 1)
        feed_dict = {train_inputs: inputs, train_labels: labels}
        op = optimizer if step < 120 else adagrad
        _, nce, sampled = session.run([op, loss, softmax], feed_dict=feed_dict)
        average_loss += nce if step < 120 else sampled
        if step % 40 == 39:
            print("Average loss at step", step + 1, ":", average_loss / 40)
            average_loss = 0
    sim = similarity.eval()
    for i, word in enumerate(["dog", "river", "quick"]):
        nearest = (-sim[i, :]).argsort()[1:4]
        print("Nearest to", word, ":", ", ".join(reverse_dictionary[k] for k in nearest))
    print(np.abs(normalized_embeddings.eval()).sum())
