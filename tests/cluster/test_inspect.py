# SPDX-License-Identifier: Apache-2.0
"""`millstream inspect` on files that the Python package writes."""
import json
import os
import subprocess

import numpy as np
import pytest

import millstream as tf


@pytest.fixture
def inspect(program):
    def run(*args, fails=False):
        done = subprocess.run([program, "inspect", *map(str, args)], capture_output=True, text=True, timeout=60)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout
    return run


@pytest.fixture
def checkpoint(tmp_path):
    tf.get_variable("layer/w", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
    tf.get_variable("step", initializer=np.int64(7), trainable=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(tmp_path / "model.ckpt"), global_step=7)


def test_checkpoint(inspect, checkpoint, tmp_path):
    for path in (checkpoint, checkpoint + ".index", tmp_path):
        text = inspect(path)
        assert "2 tensors, 7 elements, 32 bytes" in text and "layer/w" in text and "[2,3]" in text
    found = json.loads(inspect(checkpoint, "--json"))
    assert found["kind"] == "checkpoint"
    assert found["tensors"] == [{"name": "layer/w", "dtype": "float", "shape": [2, 3]}, {"name": "step", "dtype": "int64", "shape": []}]
    assert "0 1 2" in inspect(checkpoint, "--tensor", "layer/w")
    assert "no_such" in inspect(checkpoint, "--tensor", "no_such", fails=True)


def test_programs(inspect, checkpoint, tmp_path):
    found = json.loads(inspect(checkpoint + ".meta", "--json"))
    assert found["kind"] == "MetaGraphDef" and found["graph"]["variables"] == ["layer/w", "step"]
    assert found["collections"]["variables"] == 2 and found["graph"]["ops"]["VariableV2"] == 2
    assert 'op: "VariableV2"' in inspect(checkpoint + ".meta", "--format", "text")
    for text, name in ((False, "graph.pb"), (True, "graph.pbtxt")):
        tf.train.write_graph(tf.get_default_graph(), str(tmp_path), name, as_text=text)
        assert json.loads(inspect(tmp_path / name, "--json"))["kind"] == "GraphDef"
        whole = json.loads(inspect(tmp_path / name, "--format", "json"))
        assert "layer/w" in [n["name"] for n in whole["node"]]


def test_events(inspect, tmp_path):
    with tf.summary.FileWriter(str(tmp_path), tf.get_default_graph()) as writer:
        for step in range(3):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=2.0 - step)]), step)
    text = inspect(tmp_path)
    assert "loss" in text and "3 at steps 0 to 2, last 0" in text
    name = next(n for n in os.listdir(tmp_path) if "tfevents" in n)
    lines = [json.loads(line) for line in inspect(tmp_path / name, "--json").splitlines()]
    assert [(e["step"], e["value"]) for e in lines if e.get("tag") == "loss"] == [(0, 2.0), (1, 1.0), (2, 0.0)]
    with open(tmp_path / name, "ab") as file:  # as if its writer were in the middle of a record
        file.write(b"\x20\0\0\0\0\0\0\0half")
    assert "3 at steps 0 to 2" in inspect(tmp_path / name)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records(inspect, tmp_path, compression):
    path = tmp_path / "examples"
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, compression or "NONE"))
    with tf.python_io.TFRecordWriter(str(path), options) as writer:
        for i in range(5):
            example = tf.train.Example(features=tf.train.Features(feature={
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"\xff" * 100]))}))
            writer.write(example.SerializeToString())
    lines = [json.loads(line) for line in inspect(path, "--json", "--limit", 2).splitlines()]
    assert len(lines) == 3 and lines[1]["features"]["label"] == {"kind": "int64", "count": 1, "first": [1]}
    assert lines[2]["records"] == 5
    assert "5 records" in inspect(path)


def test_what_is_none_of_these(inspect, tmp_path):
    assert "no such file" in inspect(tmp_path / "missing", fails=True)
    assert "holds no checkpoint" in inspect(tmp_path, fails=True)
    (tmp_path / "notes.txt").write_text("hello, world and more")
    assert "notes.txt" in inspect(tmp_path / "notes.txt", fails=True)
    (tmp_path / "damaged").write_bytes(b"\x05\0\0\0\0\0\0\0" + b"wrong checksum")
    assert "after 0 records" in inspect(tmp_path / "damaged", fails=True)
