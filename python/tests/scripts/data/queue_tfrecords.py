# SPDX-License-Identifier: Apache-2.0
"""Queue pipelines: TFRecord files, string_input_producer, readers, batches, a coordinator; queues by hand."""
import os
import shutil
import tempfile
import threading

import numpy as np
import tensorflow as tf

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_integer("num_epochs", 2, "Passes over the files.")
tf.app.flags.DEFINE_integer("batch_size", 4, "Examples in a batch.")


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def write(folder):
    rs = np.random.RandomState(0)
    for part in range(2):
        with tf.python_io.TFRecordWriter(os.path.join(folder, "train-%d.tfrecords" % part)) as writer:
            for i in range(5):
                image = rs.randint(0, 255, [2, 3]).astype(np.uint8)
                example = tf.train.Example(features=tf.train.Features(feature={
                    "height": _int64_feature(2), "label": _int64_feature(10 * part + i), "image_raw": _bytes_feature(image.tobytes()),
                    "weights": tf.train.Feature(float_list=tf.train.FloatList(value=[i / 2.0, 1.0]))}))
                writer.write(example.SerializeToString())


def read_and_decode(filename_queue):
    reader = tf.TFRecordReader()
    key, serialized = reader.read(filename_queue)
    features = tf.parse_single_example(serialized, features={
        "image_raw": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64),
        "weights": tf.FixedLenFeature([2], tf.float32), "missing": tf.FixedLenFeature([], tf.int64, default_value=-1)})
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([6])
    image = tf.cast(image, tf.float32) * (1. / 255) - 0.5
    return image, tf.cast(features["label"], tf.int32), features["weights"], features["missing"]


def main(_):
    folder = tempfile.mkdtemp()
    write(folder)
    names = sorted(tf.gfile.Glob(os.path.join(folder, "*.tfrecords")))
    print([os.path.basename(n) for n in names], sum(1 for _ in tf.python_io.tf_record_iterator(names[0])))
    with tf.Graph().as_default():
        queue = tf.train.string_input_producer(names, num_epochs=FLAGS.num_epochs, shuffle=False)
        image, label, weights, missing = read_and_decode(queue)
        images, labels, ws, ms = tf.train.batch([image, label, weights, missing], batch_size=FLAGS.batch_size, capacity=16,
                                                allow_smaller_final_batch=True)
        init_op = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
        with tf.Session() as sess:
            sess.run(init_op)
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess=sess, coord=coord)
            step = 0
            try:
                while not coord.should_stop():
                    i, l, w, m = sess.run([images, labels, ws, ms])
                    print("%.4f" % i.mean(), l, w.sum(), m)
                    step += 1
            except tf.errors.OutOfRangeError:
                print("Done training for %d epochs, %d steps." % (FLAGS.num_epochs, step))
            finally:
                coord.request_stop()
            coord.join(threads)

        both = tf.train.slice_input_producer([tf.range(6), tf.range(6) * 10], shuffle=True, seed=3, num_epochs=1)
        shuffled = tf.train.shuffle_batch(both, 3, capacity=10, min_after_dequeue=2, seed=1)
        with tf.Session() as sess:
            sess.run(init_op)
            sess.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coord)
            seen = []
            for _ in range(2):
                a, b = sess.run(shuffled)
                assert (a * 10 == b).all()
                seen += a.tolist()
            print(sorted(seen))
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=10)

    with tf.Graph().as_default(), tf.Session() as sess:
        q = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], [2]], names=["n", "v"], name="fifo")
        put = q.enqueue_many({"n": [1, 2, 3], "v": np.ones([3, 2], np.float32)})
        get = q.dequeue()
        size = q.size()
        sess.run(put)
        print(sess.run(size), sess.run(get)["n"], sess.run(q.dequeue_many(2))["n"])
        pq = tf.PriorityQueue(5, [tf.string], [[]])
        sess.run(pq.enqueue_many((np.array([3, 1, 2], np.int64), ["c", "a", "b"])))
        print([sess.run(pq.dequeue())[1] for _ in range(3)])
        padding = tf.PaddingFIFOQueue(5, [tf.int32], [[None]])
        for n in (1, 3):
            sess.run(padding.enqueue([list(range(n))]))
        print(sess.run(padding.dequeue_many(2)).tolist())
        blocked = []
        waiting = q.dequeue()

        def wait():
            try:
                sess.run(waiting)
            except tf.errors.OutOfRangeError as e:
                blocked.append(type(e).__name__)
        thread = threading.Thread(target=wait)
        thread.start()
        sess.run(q.close())
        thread.join()
        print(blocked, sess.run(q.is_closed()))
        words = tf.train.string_input_producer([os.path.join(folder, "text")], num_epochs=1)
        with open(os.path.join(folder, "text"), "w") as f:
            f.write("first line\nsecond line\n")
        _, line = tf.TextLineReader().read(words)
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        print(sess.run(line), sess.run(line))
        coord.request_stop()
        coord.join(threads)
    shutil.rmtree(folder)


if __name__ == "__main__":
    tf.app.run()
