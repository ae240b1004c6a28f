#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TensorBoard reads our event files, by its own reader and through a running server; we read TensorFlow's.

    PYTHONPATH=build/dev/python tests/interop/tensorboard_reads.py
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf
from tensorboard.backend.event_processing import event_accumulator

import millstream as ms

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
ms.logging.set_verbosity(ms.logging.ERROR)

STEPS = 5


def write_events(lib, folder):
    """All kinds of summaries, the graph, metadata of a run and the session log, in either library."""
    with lib.Graph().as_default() as graph:
        x = lib.placeholder(lib.float32, [], name="x")
        v = lib.Variable(2.0, name="v")
        lib.summary.scalar("loss", x * v)
        lib.summary.histogram("weights", lib.fill([100], x))
        lib.summary.image("picture", lib.zeros([2, 4, 6, 3]) + 0.5)
        lib.summary.audio("sound", lib.zeros([1, 800, 1]), 8000)
        lib.summary.text("words", lib.constant(["hello", "world"]))
        merged = lib.summary.merge_all()
        writer = lib.summary.FileWriter(folder, graph)
        with lib.Session() as session:
            session.run(v.initializer)
            writer.add_session_log(lib.SessionLog(status=lib.SessionLog.START), 0)
            for step in range(STEPS):
                metadata = lib.RunMetadata()
                options = lib.RunOptions(trace_level=lib.RunOptions.FULL_TRACE)
                summary = session.run(merged, {x: step}, options=options, run_metadata=metadata)
                writer.add_summary(summary, step)
                writer.add_run_metadata(metadata, f"step{step}", step)
        writer.close()


class Server:
    """A running TensorBoard."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0", "--load_fast", "false",
                   "--reload_interval", "1"]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        said = ""
        for line in self.process.stdout:
            said += line
            found = re.search(r"http://[^:/ ]+:(\d+)/", line)
            if found:
                self.address = f"http://localhost:{found.group(1)}"
                return
        raise RuntimeError("TensorBoard did not start:\n" + said)

    def get(self, path, raw=False, **arguments):
        url = f"{self.address}/{path}" + ("?" + urllib.parse.urlencode(arguments) if arguments else "")
        with urllib.request.urlopen(url, timeout=30) as answer:
            body = answer.read()
            if answer.headers.get("Content-Encoding") == "gzip":
                body = zlib.decompress(body, 31)
        return body if raw else json.loads(body)

    def wait_for_run(self, run):
        for _ in range(100):
            if run in self.get("data/runs"):
                return
            time.sleep(0.2)
        raise RuntimeError(f"TensorBoard does not see {run}")

    def stop(self):
        self.process.kill()
        self.process.communicate()


class TensorBoardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for name, lib in (("ours", ms), ("theirs", tf)):
            write_events(lib, os.path.join(cls.folder.name, name))

    def accumulator(self, run):
        out = event_accumulator.EventAccumulator(os.path.join(self.folder.name, run), size_guidance={
            event_accumulator.IMAGES: 0, event_accumulator.SCALARS: 0, event_accumulator.HISTOGRAMS: 0, event_accumulator.TENSORS: 0})
        return out.Reload()

    def test_the_reader_of_tensorboard(self):
        ours, theirs = self.accumulator("ours"), self.accumulator("theirs")
        self.assertEqual(ours.Tags(), theirs.Tags())
        self.assertEqual(ours.file_version, theirs.file_version)
        self.assertEqual([n.name for n in ours.Graph().node if n.op == "ScalarSummary"], ["loss"])
        self.assertEqual(ours.SummaryMetadata("words").plugin_data.plugin_name, "text")
        for tag in ours.Tags()["tensors"]:
            for a, b in zip(ours.Tensors(tag), theirs.Tensors(tag), strict=True):
                self.assertEqual((tag, a.step), (tag, b.step))
                mine, other = tf.make_ndarray(a.tensor_proto), tf.make_ndarray(b.tensor_proto)
                if tag.startswith(("picture", "sound")):  # compressed differently
                    self.assertEqual(list(mine[:2]), list(other[:2]), tag)
                else:
                    self.assertEqual(mine.tolist(), other.tolist(), tag)
        self.assertTrue(ours.RunMetadata("step3").step_stats.dev_stats)
        self.assertEqual(len(ours.MetaGraph().graph_def.node), len(ours.Graph().node))

    def test_a_running_tensorboard(self):
        server = Server(self.folder.name)
        self.addCleanup(server.stop)
        server.wait_for_run("ours")
        for run in ("ours", "theirs"):
            with self.subTest(run=run):
                self.check_pages(server, run)

    def check_pages(self, server, run):
        plugin = lambda name, **arguments: server.get(f"data/plugin/{name}", run=run, **arguments)
        scalars = plugin("scalars/scalars", tag="loss")
        self.assertEqual([(step, value) for _, step, value in scalars], [(s, 2.0 * s) for s in range(STEPS)])
        histograms = plugin("histograms/histograms", tag="weights")
        self.assertEqual([step for _, step, _ in histograms], list(range(STEPS)))
        self.assertAlmostEqual(sum(bucket[2] for bucket in histograms[-1][2]), 100, delta=0.5)
        images = plugin("images/images", tag="picture/image/0")
        picture = server.get("data/plugin/images/individualImage?" + images[-1]["query"], raw=True)
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", picture[16:24]), (6, 4))
        sounds = plugin("audio/audio", tag="sound/audio/0")
        wave = server.get("data/plugin/audio/individualAudio?" + sounds[-1]["query"], raw=True)
        self.assertEqual(wave[:4] + wave[8:12], b"RIFFWAVE")
        words = plugin("text/text", tag="words")
        self.assertEqual([w["step"] for w in words], list(range(STEPS)))
        self.assertIn("hello", words[0]["text"])
        graph = server.get("data/plugin/graphs/graph", raw=True, run=run).decode()
        self.assertIn('op: "HistogramSummary"', graph)
        tags = server.get("data/plugin/graphs/info")[run]["tags"]
        self.assertIn("step3", tags)
        metadata = server.get("data/plugin/graphs/run_metadata", raw=True, run=run, tag="step3").decode()
        self.assertIn("node_stats", metadata)

    def test_we_read_theirs(self):
        def events(run, read):
            folder = os.path.join(self.folder.name, run)
            return [e for name in sorted(os.listdir(folder)) for e in read(os.path.join(folder, name))]

        def outline(found):
            return [(e.WhichOneof("what"), e.step, [(v.tag, v.WhichOneof("value")) for v in e.summary.value]) for e in found]

        for run in ("ours", "theirs"):
            self.assertEqual(outline(events(run, ms.train.summary_iterator)), outline(events(run, tf.train.summary_iterator)))
        self.assertEqual(sorted(outline(events("ours", ms.train.summary_iterator)), key=str),
                         sorted(outline(events("theirs", ms.train.summary_iterator)), key=str))
        losses = [v.simple_value for e in events("theirs", ms.train.summary_iterator) for v in e.summary.value if v.tag == "loss"]
        np.testing.assert_array_equal(losses, [2.0 * s for s in range(STEPS)])


if __name__ == "__main__":
    unittest.main()
