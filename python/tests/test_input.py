# SPDX-License-Identifier: Apache-2.0
"""Input: record files, queues, readers, parsing, datasets, MNIST."""
import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def elements(dataset, sess=None):
    """All of them, as lists."""
    item = dataset.make_one_shot_iterator().get_next()
    out = []
    with tf.Session() as sess:
        while True:
            try:
                out.append(sess.run(item))
            except tf.errors.OutOfRangeError:
                return out


def example(i):
    feature = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])),
               "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
               "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"w"] * i))}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


@pytest.fixture
def records(tmp_path):
    paths = []
    for f in range(2):
        paths.append(str(tmp_path / f"r{f}.tfrecord"))
        with tf.python_io.TFRecordWriter(paths[-1]) as writer:
            for i in range(3):
                writer.write(example(3 * f + i))
    return paths


@pytest.mark.parametrize("compression", ["NONE", "ZLIB", "GZIP"])
def test_record_files(tmp_path, compression):
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, compression))
    path = str(tmp_path / "r")
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for i in range(10):
            writer.write(b"x" * i)
    assert [len(r) for r in tf.python_io.tf_record_iterator(path, options)] == list(range(10))


def test_queue_pipeline(records):
    queue = tf.train.string_input_producer(records, num_epochs=2, shuffle=False)
    _, value = tf.TFRecordReader().read(queue)
    parsed = tf.parse_single_example(value, {"x": tf.FixedLenFeature([2], tf.float32), "y": tf.FixedLenFeature([], tf.int64),
                                             "s": tf.VarLenFeature(tf.string)})
    x, y = tf.train.batch([parsed["x"], parsed["y"]], batch_size=4)
    assert x.shape.as_list() == [4, 2]
    seen = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while not coord.should_stop():
                seen.extend(sess.run(y))
        except tf.errors.OutOfRangeError:
            pass
        coord.request_stop()
        coord.join(threads)
    assert seen == [0, 1, 2, 3, 4, 5] * 2


def test_shuffle_batch_and_slices():
    a, b = tf.train.slice_input_producer([np.arange(10), np.arange(10) * 2], shuffle=True, seed=1)
    x, y = tf.train.shuffle_batch([a, b], batch_size=5, capacity=20, min_after_dequeue=5, seed=2)
    d = tf.train.batch_join([{"v": tf.constant(1)}, {"v": tf.constant(2)}], batch_size=8)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        u, v = sess.run([x, y])
        np.testing.assert_array_equal(v, 2 * u)
        assert set(sess.run(d["v"])) <= {1, 2}
        coord.request_stop()
        coord.join(threads)


def test_parse_example(records):
    batch = list(tf.python_io.tf_record_iterator(records[0]))
    features = {"x": tf.FixedLenFeature([2], tf.float32), "y": tf.FixedLenFeature([1], tf.int64),
                "z": tf.FixedLenFeature([], tf.float32, default_value=7.0), "s": tf.VarLenFeature(tf.string)}
    parsed = tf.parse_example(batch, features)
    with tf.Session() as sess:
        got = sess.run(parsed)
    np.testing.assert_array_equal(got["x"], [[0, .5], [1, 1.5], [2, 2.5]])
    np.testing.assert_array_equal(got["y"], [[0], [1], [2]])
    np.testing.assert_array_equal(got["z"], [7, 7, 7])
    np.testing.assert_array_equal(got["s"].indices, [[1, 0], [2, 0], [2, 1]])


def test_queues():
    q = tf.PaddingFIFOQueue(10, tf.int32, shapes=[[None]])
    p = tf.PriorityQueue(10, tf.string, shapes=[[]])
    with tf.Session() as sess:
        sess.run([q.enqueue([[1]]), q.enqueue([[2, 3]])])
        assert sorted(map(list, sess.run(q.dequeue_many(2)))) == [[1, 0], [2, 3]]
        sess.run(p.enqueue_many([np.array([3, 1, 2], np.int64), [b"c", b"a", b"b"]]))
        assert [sess.run(p.dequeue())[1] for _ in range(3)] == [b"a", b"b", b"c"]
        sess.run(q.close())
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(q.dequeue())


def test_dataset_steps():
    d = tf.data.Dataset
    assert elements(d.range(5).map(lambda x: x * 2).filter(lambda x: x > 2)) == [4, 6, 8]
    assert [list(b) for b in elements(d.range(5).batch(2))] == [[0, 1], [2, 3], [4]]
    assert [list(b) for b in elements(d.range(5).batch(2, drop_remainder=True))] == [[0, 1], [2, 3]]
    assert elements(d.range(3).repeat(2).skip(1).take(4)) == [1, 2, 0, 1]
    assert elements(d.range(2).concatenate(d.range(5, 7))) == [0, 1, 5, 6]
    assert elements(d.range(6).shard(3, 1)) == [1, 4]
    assert sorted(elements(d.range(20).shuffle(10, seed=3))) == list(range(20))
    assert elements(d.range(3).flat_map(lambda x: d.from_tensors(x).repeat(x + 1))) == [0, 1, 1, 2, 2, 2]
    assert elements(d.range(2).interleave(lambda x: d.from_tensors(x).repeat(3), cycle_length=2, block_length=2)) == \
        [0, 0, 1, 1, 0, 1]
    assert elements(d.zip((d.range(2), d.range(5, 7)))) == [(0, 5), (1, 6)]
    padded = elements(d.range(1, 4).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x)).padded_batch(2, [None]))
    assert [p.tolist() for p in padded] == [[[1, 0], [2, 2]], [[3, 3, 3]]]
    assert elements(d.range(4).map(lambda x: x + 1, num_parallel_calls=2).prefetch(1)) == [1, 2, 3, 4]


def test_dataset_structures_and_files(records, tmp_path):
    features = {"x": np.arange(6, dtype=np.float32).reshape(3, 2), "y": np.array([0, 1, 2])}
    got = elements(tf.data.Dataset.from_tensor_slices((features, np.array([b"a", b"b", b"c"]))))
    assert got[1][0]["y"] == 1 and got[1][1] == b"b" and list(got[2][0]["x"]) == [4, 5]
    assert elements(tf.data.TFRecordDataset(records)) == [example(i) for i in range(6)]
    (tmp_path / "t.txt").write_text("a\nb\n")
    assert elements(tf.data.TextLineDataset(str(tmp_path / "t.txt"))) == [b"a", b"b"]
    files = tf.data.Dataset.from_tensor_slices(np.array(records))
    assert len(elements(files.flat_map(tf.data.TFRecordDataset))) == 6


def test_iterators():
    limit = tf.placeholder(tf.int64, [])
    dataset = tf.data.Dataset.range(limit)
    iterator = dataset.make_initializable_iterator()
    item = iterator.get_next()
    other = tf.data.Iterator.from_structure(tf.int64, [])
    inits = [other.make_initializer(tf.data.Dataset.range(n)) for n in (1, 2)]
    value = other.get_next()
    handle = tf.placeholder(tf.string, [])
    chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session() as sess:
        for n in (2, 3):
            sess.run(iterator.initializer, {limit: n})
            assert [sess.run(item) for _ in range(n)] == list(range(n))
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(item)
        sess.run(inits[1])
        assert [sess.run(value), sess.run(value)] == [0, 1]
        sess.run(iterator.initializer, {limit: 1})
        assert sess.run(chosen, {handle: sess.run(iterator.string_handle())}) == 0
    with pytest.raises(ValueError, match="initializable"):
        dataset.make_one_shot_iterator()


def elements_of(item):
    with tf.Session() as session:
        found = []
        while True:
            try:
                found.append(session.run(item))
            except tf.errors.OutOfRangeError:
                return found


def test_one_shot_iterators_copy_the_ops_that_they_need():
    base = tf.range(3)
    slices = tf.data.Dataset.from_tensor_slices(tf.cast(base, tf.float32) * 2.0).make_one_shot_iterator().get_next()
    assert elements_of(slices) == [0, 2, 4]
    offset = tf.reduce_sum(base) + 4
    mapped = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.int32) + offset).make_one_shot_iterator().get_next()
    assert elements_of(mapped) == [7, 8, 9]
    counted = tf.data.Dataset.range(tf.cast(offset, tf.int64)).skip(tf.cast(offset - 2, tf.int64)).batch(
        tf.cast(base[1] + 1, tf.int64)).make_one_shot_iterator().get_next()
    assert [list(b) for b in elements_of(counted)] == [[5, 6]]


def test_one_shot_iterators_copy_what_nested_functions_capture():
    outer = tf.range(2) + 5
    large = tf.constant(np.arange(10000, dtype=np.int64))
    chosen = tf.cond(tf.reduce_sum(outer) > 3, lambda: outer * 2, lambda: outer)

    def inner(x):
        return tf.data.Dataset.from_tensor_slices(chosen).map(lambda y: tf.cast(y, tf.int64) + x + large[tf.cast(y, tf.int32)])
    item = tf.data.Dataset.range(2).flat_map(inner).filter(lambda x: x > tf.cast(outer[0], tf.int64)).make_one_shot_iterator().get_next()
    assert elements_of(item) == [20, 24, 21, 25]

    @tf.contrib.function.Defun(tf.int64)
    def double(x):
        return x * 2
    called = tf.data.Dataset.from_tensors(double(tf.constant(4, tf.int64))).make_one_shot_iterator().get_next()
    assert elements_of(called) == [8]


def test_one_shot_iterators_refuse_state():
    def one_shot(value):
        return tf.data.Dataset.from_tensors(value).make_one_shot_iterator()
    with pytest.raises(ValueError, match=r"make_initializable_iterator.*Cannot capture a stateful node \(name:v.*by value"):
        one_shot(tf.get_variable("v", [2]) + 1)
    with pytest.raises(ValueError, match=r"Cannot capture a stateful node \(name:.*, type:RandomUniform\) by value"):
        one_shot(tf.random_uniform([2]))
    with pytest.raises(ValueError, match=r"Cannot capture a placeholder \(name:p, type:Placeholder\) by value"):
        one_shot(tf.placeholder(tf.float32, [], name="p") * 2)
    with pytest.raises(ValueError, match="Cannot capture a loop"):
        one_shot(tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]))


def test_generator():
    def numbers():
        for i in range(4):
            yield i, [i] * i

    dataset = tf.data.Dataset.from_generator(numbers, (tf.int32, tf.float32), ([], [None]))
    got = elements(dataset.repeat(2))
    assert [g[0] for g in got] == [0, 1, 2, 3] * 2 and list(got[3][1]) == [3, 3, 3]


def test_mnist():
    from millstream.examples.tutorials.mnist import input_data
    mnist = input_data.read_data_sets("nowhere", one_hot=True)
    assert (mnist.train.num_examples, mnist.validation.num_examples, mnist.test.num_examples) == (55000, 5000, 10000)
    x, y = mnist.train.next_batch(100)
    assert x.shape == (100, 784) and x.dtype == np.float32 and 0 <= x.min() and x.max() <= 1 and y.sum() == 100
    for _ in range(549):
        mnist.train.next_batch(100)
    assert mnist.train.epochs_completed == 0
    mnist.train.next_batch(100)
    assert mnist.train.epochs_completed == 1


def test_window_and_reduce():
    numbers = tf.data.Dataset.range(7)
    sums = numbers.window(3, shift=2).flat_map(lambda w: w.batch(3)).map(tf.reduce_sum)
    pairs = tf.data.Dataset.zip((numbers, numbers.map(lambda x: x * 10))).window(2, stride=2, drop_remainder=True)
    pairs = pairs.flat_map(lambda a, b: tf.data.Dataset.zip((a.batch(2), b.batch(2))))
    total, count = numbers.reduce((np.int64(100), 0), lambda state, x: (state[0] + x, state[1] + 1))
    longer = numbers.reduce(np.zeros([1], np.int64), lambda state, x: tf.concat([state, [x]], 0))
    with tf.Session() as sess:
        get = sums.make_one_shot_iterator().get_next()
        assert [sess.run(get) for _ in range(4)] == [3, 9, 15, 6]
        get = pairs.make_one_shot_iterator().get_next()
        assert [[list(x) for x in sess.run(get)] for _ in range(2)] == [[[0, 2], [0, 20]], [[2, 4], [20, 40]]]
        with pytest.raises(tf.errors.OutOfRangeError):
            for _ in range(3):
                sess.run(get)
        assert sess.run([total, count]) == [121, 7]
        assert list(sess.run(longer)) == [0, 0, 1, 2, 3, 4, 5, 6]
