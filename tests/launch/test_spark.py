# SPDX-License-Identifier: Apache-2.0
"""Executors of a real local-cluster Spark application as tasks."""
import os
import subprocess
import sys
import uuid

import pytest
from programs import TRAIN, processes_with, wait_until

from millstream import spark


@pytest.fixture(scope="module")
def sc(tmp_path_factory):
    from pyspark import SparkConf, SparkContext

    # Three executors with a core and 512 MB each.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    here = tmp_path_factory.mktemp("spark")
    conf = SparkConf().setMaster("local-cluster[3,1,512]").setAppName("launch test").set("spark.ui.enabled", "false")
    conf = conf.set("spark.local.dir", str(here)).set("spark.executor.memory", "512m").set("spark.driver.memory", "512m")
    conf = conf.set("spark.driver.bindAddress", "127.0.0.1").set("spark.driver.host", "127.0.0.1").set("spark.task.maxFailures", "1")
    conf = conf.set("spark.executorEnv.PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    context = SparkContext(conf=conf)
    wait_until(lambda: context.defaultParallelism >= 3, 60)
    yield context
    context.stop()


def _make_training():
    def train(task):  # nested, so that it travels by value
        import millstream as tf

        if task.job_name == "ps":
            task.server.join()
            return None
        with tf.device(tf.train.replica_device_setter(cluster=task.cluster, worker_device="/job:worker/task:%d" % task.task_index)):
            total = tf.Variable(0, name="total")
            step = tf.assign_add(total, 1, use_locking=True)
        with tf.train.MonitoredTrainingSession(task.server.target, is_chief=task.is_chief) as session:
            for _ in range(10):
                session.run(step)
            while session.run(total) < 20:
                pass
            return task.task_index, int(session.run(total))

    return train


def test_a_function_as_every_task(sc):
    assert spark.run(sc, _make_training(), ps=1, workers=2) == [(0, 20), (1, 20)]
    # Again: the executors' Python processes are the same, and nothing of the first job is in them.
    assert spark.run(sc, _make_training(), ps=1, workers=2) == [(0, 20), (1, 20)]


def test_a_program_as_every_task(sc, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    mark = uuid.uuid4().hex
    assert spark.run(sc, [sys.executable, script], ps=1, workers=2, environment={"MARK": mark}) == [0, 0]
    wait_until(lambda: not processes_with(mark))


@pytest.mark.parametrize("fails", ["ps", "worker"])
def test_one_that_fails_ends_all(sc, fails):
    mark = uuid.uuid4().hex
    code = (f"import json, os, sys, time\nif json.loads(os.environ['TF_CONFIG'])['task']['type'] == '{fails}': sys.exit(3)\n"
            "time.sleep(1000)")
    with pytest.raises(Exception, match=f"{fails}:.* failed: exit code 3"):
        spark.run(sc, [sys.executable, "-c", code], ps=1, workers=2, environment={"MARK": mark})
    wait_until(lambda: not processes_with(mark))


def test_the_token_is_in_no_folder():
    with spark._token_file("secret") as path:  # a killed task could not remove it
        assert os.path.realpath(path).startswith("/memfd:")
        read = [sys.executable, "-c", f"print(open({path!r}).read())"]
        assert subprocess.run(read, capture_output=True, text=True, check=True).stdout == "secret\n"
    assert not os.path.exists(path)


def test_too_few_slots(sc):
    with pytest.raises(RuntimeError, match="4 tasks.*3 slots"):
        spark.run(sc, ["true"], ps=2, workers=2)
    with pytest.raises(ValueError, match="at least one worker"):
        spark.run(sc, ["true"], ps=2, workers=0)
