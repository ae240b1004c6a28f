#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files cross over between the Python package and TensorFlow, both ways: checkpoints, TFRecords, meta graphs, SavedModels.

    PYTHONPATH=build/dev/python tests/interop/files.py
"""
import os
import sys
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf

import millstream as ms

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from cluster_processes import free_ports

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
ms.logging.set_verbosity(ms.logging.ERROR)

BOTH_WAYS = (("ours", ms, tf), ("theirs", tf, ms))
X = np.linspace(-0.4, 1.5, 12).reshape(4, 3).astype(np.float32)


def model(lib, parts=2, use_resource=False):
    """A graph with variables of all kinds a checkpoint has, in either library."""
    lib.set_random_seed(1)
    x = lib.placeholder(lib.float32, [None, 3], name="x")
    with lib.variable_scope("net", use_resource=use_resource):
        w = lib.get_variable("w", [3, 5], initializer=lib.constant_initializer(0.3))
        p = lib.get_variable("p", [5, 2], partitioner=lib.fixed_size_partitioner(parts), initializer=lib.ones_initializer())
        b = lib.get_variable("b", [2], initializer=lib.zeros_initializer())
        lib.get_variable("name", initializer=np.array([b"one", b"two"]), trainable=False, dtype=lib.string)
    y = lib.identity(lib.matmul(lib.tanh(lib.matmul(x, w)), lib.convert_to_tensor(p)) + b, name="y")
    loss = lib.reduce_mean(lib.square(y - lib.reduce_sum(x, 1, keepdims=True)), name="loss")
    step = lib.train.get_or_create_global_step()
    train = lib.train.AdamOptimizer(0.05).minimize(loss, global_step=step, name="train")
    return train


def values(lib, session):
    """What the graph gives, by names that both libraries use."""
    out = {n: session.run(n, {"x:0": X}) for n in ("y:0", "loss:0")}
    out.update((v.op.name, session.run(v)) for v in lib.global_variables() if "name" not in v.op.name and "/p/" not in v.op.name)
    return out


def assert_same(got, want, rtol=1e-5):
    assert got.keys() == want.keys(), (got.keys(), want.keys())
    for key in want:
        np.testing.assert_allclose(got[key], want[key], rtol=rtol, atol=1e-6, err_msg=key)


def free_addresses(count):
    return [f"localhost:{port}" for port in free_ports(count)]


class FilesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def test_object_checkpoints(self):
        def objects(lib):
            v = lib.Variable([1.0, 2.0], name="vv")
            r = lib.get_variable("rr", [2], initializer=lib.ones_initializer(), use_resource=True)
            optimizer = lib.train.AdamOptimizer(0.1)
            train = optimizer.minimize(lib.reduce_sum(v * v) + lib.reduce_sum(r * v))
            checkpoint = lib.train.Checkpoint(v=v, many=[r, {"again": v}], optimizer=optimizer)
            return checkpoint, train, [v, r, optimizer.get_slot(v, "m"), optimizer.get_slot(r, "v")]
        for name, writer, reader in BOTH_WAYS:
            with self.subTest(name):
                with writer.Graph().as_default(), writer.Session() as session:
                    checkpoint, train, fetches = objects(writer)
                    session.run(writer.global_variables_initializer())
                    session.run(train)
                    checkpoint.save(self.path(name, "model"), session=session)
                    want = session.run(fetches)
                with reader.Graph().as_default(), reader.Session() as session:
                    checkpoint, _, fetches = objects(reader)
                    status = checkpoint.restore(reader.train.latest_checkpoint(self.path(name)))
                    status.assert_consumed().run_restore_ops(session)
                    for got, expected in zip(session.run(fetches), want):
                        np.testing.assert_array_equal(got, expected)

    def test_caches_of_datasets(self):
        def elements(lib, path, start):
            with lib.Graph().as_default(), lib.Session() as session:
                dataset = lib.data.Dataset.range(start, start + 3).map(lambda x: (x, lib.as_string(x))).cache(path)
                following, out = lib.data.make_one_shot_iterator(dataset).get_next(), []
                try:
                    while True:
                        out.append(session.run(following))
                except lib.errors.OutOfRangeError:
                    return out
        for name, writer, reader in BOTH_WAYS:
            with self.subTest(name):
                written = elements(writer, self.path(name), 0)
                self.assertEqual(elements(reader, self.path(name), 100), written)  # not 100: what the file has

    def train_and_save(self, lib, prefix, steps=3, sharded=False, **kwargs):
        """Trains, saves, goes on: (path, values as saved, values after three more steps)."""
        with lib.Graph().as_default():
            train = model(lib, **kwargs)
            saver = lib.train.Saver(sharded=sharded)
            with lib.Session() as session:
                session.run(lib.global_variables_initializer())
                for _ in range(steps):
                    session.run(train, {"x:0": X})
                path = saver.save(session, prefix, global_step=steps)
                saved = values(lib, session)
                for _ in range(3):
                    session.run(train, {"x:0": X})
                return path, saved, values(lib, session)

    def test_checkpoints(self):
        for name, writer, reader in BOTH_WAYS:
            for sharded in (False, True):
                for use_resource in (False, True):
                    with self.subTest(written_by=name, sharded=sharded, use_resource=use_resource):
                        folder = self.path(f"{name}{sharded}{use_resource}")
                        os.mkdir(folder)
                        path, saved, later = self.train_and_save(writer, os.path.join(folder, "m"), sharded=sharded,
                                                                 use_resource=use_resource)
                        self.check_restored(reader, folder, path, saved, later, use_resource)

    def check_restored(self, lib, folder, path, saved, later, use_resource):
        self.assertEqual(lib.train.latest_checkpoint(folder), path)
        state = lib.train.get_checkpoint_state(folder)
        self.assertEqual(list(state.all_model_checkpoint_paths), [path])
        listed = dict(lib.train.list_variables(path))
        self.assertEqual(list(listed["net/p"]), [5, 2])
        self.assertEqual(list(listed["net/p/Adam_1"]), [5, 2])
        self.assertEqual(list(lib.train.load_variable(path, "net/name")), [b"one", b"two"])
        with lib.Graph().as_default():
            train = model(lib, parts=3, use_resource=use_resource)  # other slices than were saved
            with lib.Session() as session:
                lib.train.Saver().restore(session, path)
                assert_same(values(lib, session), saved)
                for _ in range(3):
                    session.run(train, {"x:0": X})
                assert_same(values(lib, session), later)

    def test_checkpoints_of_two_ps_tasks(self):
        for name, writer, reader in BOTH_WAYS:
            with self.subTest(written_by=name):
                spec = writer.train.ClusterSpec({"ps": free_addresses(2), "worker": free_addresses(1)})
                servers = [writer.train.Server(spec, job_name="ps", task_index=i) for i in range(2)]
                servers.append(writer.train.Server(spec, job_name="worker", task_index=0))
                with writer.Graph().as_default():
                    with writer.device(writer.train.replica_device_setter(cluster=spec)):
                        model(writer)
                    with writer.Session(servers[-1].target) as session:
                        session.run(writer.global_variables_initializer())
                        session.run("train", {"x:0": X})
                        path = writer.train.Saver(sharded=True).save(session, self.path("tasks_" + name))
                        want = values(writer, session)
                self.assertTrue(os.path.exists(path + ".data-00001-of-00002"))
                with reader.Graph().as_default():
                    model(reader, parts=1)
                    with reader.Session() as session:
                        reader.train.Saver().restore(session, path)
                        assert_same(values(reader, session), want)

    def test_a_checkpoint_saved_over_another(self):
        prefix = self.path("same")
        with ms.Graph().as_default():
            v = ms.get_variable("v", initializer=1.0)
            saver = ms.train.Saver()
            with ms.Session() as session:
                session.run(v.initializer)
                for _ in range(3):
                    session.run(v.assign_add(1.0))
                    saver.save(session, prefix)
                    self.assertEqual(tf.train.load_variable(prefix, "v"), session.run(v))

    def test_meta_graphs(self):
        for name, writer, reader in BOTH_WAYS:
            for use_resource in (False, True):
                with self.subTest(written_by=name, use_resource=use_resource):
                    path, saved, later = self.train_and_save(writer, self.path(f"{name}{use_resource}"), use_resource=use_resource)
                    with reader.Graph().as_default() as graph:
                        saver = reader.train.import_meta_graph(path + ".meta")
                        self.assertEqual([v.op.name for v in reader.trainable_variables()],
                                         ["net/w", "net/p/part_0", "net/p/part_1", "net/b"])
                        train = reader.get_collection("train_op")[0]
                        with reader.Session() as session:
                            saver.restore(session, path)
                            assert_same(values(reader, session), saved)
                            for _ in range(3):
                                session.run(train, {"x:0": X})
                            assert_same(values(reader, session), later)
                            self.assertEqual(train.name, graph.get_operation_by_name("train").name)

    def test_graph_with_loop_and_function(self):
        """Control flow contexts and functions go through meta graphs, too."""
        def build(lib):
            n = lib.placeholder(lib.int32, [], name="n")
            total = lib.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t * 2.0), [0, 1.0])[1]
            chosen = lib.cond(n > 3, lambda: total + 1.0, lambda: total - 1.0)
            data = lib.data.Dataset.range(5).map(lambda v: v * v).batch(5)
            batch = lib.data.make_one_shot_iterator(data).get_next()
            lib.identity(chosen, name="chosen")
            lib.identity(batch, name="batch")

        for name, writer, reader in BOTH_WAYS:
            with self.subTest(written_by=name):
                with writer.Graph().as_default():
                    build(writer)
                    writer.train.export_meta_graph(self.path(name + ".meta"))
                with reader.Graph().as_default():
                    reader.train.import_meta_graph(self.path(name + ".meta"))
                    with reader.Session() as session:
                        self.assertEqual([session.run("chosen:0", {"n:0": n}) for n in (2, 5)], [3.0, 33.0])
                        self.assertEqual(list(session.run("batch:0")), [0, 1, 4, 9, 16])

    def test_saved_models(self):
        for name, writer, reader in BOTH_WAYS:
            with self.subTest(written_by=name):
                folder = self.path("saved_" + name)
                with writer.Graph().as_default() as graph:
                    model(writer)
                    with writer.Session() as session:
                        session.run(writer.global_variables_initializer())
                        session.run("train", {"x:0": X})
                        writer.saved_model.simple_save(session, folder, {"input": graph.get_tensor_by_name("x:0")},
                                                       {"output": graph.get_tensor_by_name("y:0")})
                        want = session.run("y:0", {"x:0": X})
                self.assertTrue(reader.saved_model.maybe_saved_model_directory(folder))
                with reader.Graph().as_default(), reader.Session() as session:
                    meta = reader.saved_model.load(session, [reader.saved_model.tag_constants.SERVING], folder)
                    signature = meta.signature_def["serving_default"]
                    feed, fetch = signature.inputs["input"].name, signature.outputs["output"].name
                    np.testing.assert_allclose(session.run(fetch, {feed: X}), want, rtol=1e-5)

    def test_records(self):
        records = [b"", b"a", b"xyz" * 100, os.urandom(100_000)] + [b"r%d" % i for i in range(1000)]
        kinds = ("", "GZIP", "ZLIB")
        for name, writer, reader in BOTH_WAYS:
            for kind in kinds:
                with self.subTest(written_by=name, kind=kind):
                    path = self.path(f"{name}{kind}.tfrecord")
                    of = lambda lib, kind=kind: lib.python_io.TFRecordOptions(getattr(lib.python_io.TFRecordCompressionType, kind or "NONE"))
                    with writer.python_io.TFRecordWriter(path, of(writer)) as file:
                        for record in records:
                            file.write(record)
                    self.assertEqual(list(reader.python_io.tf_record_iterator(path, of(reader))), records)
                    with reader.Graph().as_default(), reader.Session() as session:
                        batch = reader.data.make_one_shot_iterator(
                            reader.data.TFRecordDataset([path], compression_type=kind).batch(5000)).get_next()
                        self.assertEqual(list(session.run(batch)), records)

    def test_examples(self):
        for name, writer, reader in BOTH_WAYS:
            with self.subTest(written_by=name):
                t = writer.train
                example = t.Example(features=t.Features(feature={
                    "label": t.Feature(int64_list=t.Int64List(value=[-3])),
                    "pixels": t.Feature(float_list=t.FloatList(value=[0.5, 1.5])),
                    "image": t.Feature(bytes_list=t.BytesList(value=[b"\x00\xff"]))}))
                with reader.Graph().as_default(), reader.Session() as session:
                    parsed = session.run(reader.parse_single_example(example.SerializeToString(), {
                        "label": reader.FixedLenFeature([], reader.int64), "pixels": reader.FixedLenFeature([2], reader.float32),
                        "image": reader.FixedLenFeature([], reader.string)}))
                self.assertEqual((parsed["label"], list(parsed["pixels"]), parsed["image"]), (-3, [0.5, 1.5], b"\x00\xff"))


if __name__ == "__main__":
    unittest.main()
