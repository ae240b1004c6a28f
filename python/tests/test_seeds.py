# SPDX-License-Identifier: Apache-2.0
"""The programs of the five documents (examples/seeds), each in several processes, unchanged: `import tensorflow` is us."""
import os
import re
import subprocess
import sys

import pytest

import millstream
from ports import free_ports

PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(millstream.__spec__.origin)))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = os.path.join(ROOT, "examples", "seeds")
TIMEOUT = 180  # seconds; only a hang takes as long


def start(script, *args, cwd):
    return subprocess.Popen([sys.executable, "-m", "millstream", os.path.join(SEEDS, script), *args], cwd=cwd,
                            env={**os.environ, "MILLSTREAM_SOURCE_DIR": ROOT, "PYTHONPATH": PACKAGES}, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def finish(process, timeout=TIMEOUT):
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        pytest.fail(f"{process.args} did not end:\n{output[-3000:]}")
    assert process.returncode == 0, output[-3000:]
    return output


def run_cluster(script, cwd, *args, ps=1, workers=2, index_flag="--task_index"):
    """The outputs of the workers. All tasks, ps included, must end by themselves with success."""
    ports = free_ports(ps + workers)
    hosts = [f"localhost:{p}" for p in ports]
    common = [f"--ps_hosts={','.join(hosts[:ps])}", f"--worker_hosts={','.join(hosts[ps:])}", *args]
    tasks = [("ps", i) for i in range(ps)] + [("worker", i) for i in range(workers)]
    processes = [start(script, f"--job_name={job}", f"{index_flag}={i}", *common, cwd=cwd) for job, i in tasks]
    try:
        outputs = [finish(p) for p in reversed(processes)]
    finally:
        for p in processes:
            if p.poll() is None:
                p.kill()
    return outputs[:workers][::-1]


def test_softmax_with_supervisor(tmp_path):
    outputs = run_cluster("mnist_dist.py", tmp_path, f"--log_dir={tmp_path}/logs", "--train_steps=600", ps=2)
    for output in outputs:
        assert float(re.search(r"test accuracy ([\d.]+)", output).group(1)) > 0.85
    assert any("tfevents" in n for n in os.listdir(tmp_path / "logs"))


def test_matmul_client(tmp_path):
    ports = free_ports(3)
    hosts = [f"localhost:{p}" for p in ports]
    tasks = [start("example_server.py", f"--job_name={job}", f"--task_index={i}", f"--ps_hosts={hosts[0]}",
                   f"--worker_hosts={hosts[1]},{hosts[2]}", cwd=tmp_path) for job, i in
             (("ps", 0), ("worker", 0), ("worker", 1))]
    try:
        output = finish(start("matmul_client.py", f"grpc://{hosts[1]}", cwd=tmp_path))
    finally:
        for task in tasks:
            task.kill()
            task.communicate()
    assert "[[7. 7.]\n [7. 7.]]" in output


@pytest.mark.parametrize("sync", [False, True])
def test_three_layers_with_monitored_session(tmp_path, sync):
    outputs = run_cluster("distributed_mnist.py", tmp_path, f"--is_sync={sync}", "--last_step=300",
                          f"--checkpoint_dir={tmp_path}/ckpt", ps=2)
    for output in outputs:
        assert float(re.search(r"accuracy of the last batch ([\d.]+)", output).group(1)) > 0.6
    assert "model.ckpt-300.index" in os.listdir(tmp_path / "ckpt") or any(
        int(re.search(r"ckpt-(\d+)", n).group(1)) >= 300 for n in os.listdir(tmp_path / "ckpt") if n.endswith(".index"))


@pytest.mark.parametrize("sync, steps, accuracy", [(False, 10000, 0.97), (True, 600, 0.85)])
def test_hidden_layer_with_log_lines(tmp_path, sync, steps, accuracy):
    outputs = run_cluster("distributed.py", tmp_path, f"--issync={sync}", f"--train_steps={steps}", "--learning_rate=0.003")
    for i, output in enumerate(outputs):
        assert re.search(rf"^[\d.]+: Worker {i}: traing step \d+ dome \(global step:\d+\)$", output, re.M)
        assert re.search(r"^Training elapsed time:[\d.]+ s$", output, re.M)
        assert re.search(rf"^After {steps} training step\(s\), validation cross entropy = [\d.e+]+$", output, re.M)
        assert float(re.search(r"Validation accuracy = ([\d.]+)", output).group(1)) >= accuracy


def test_linear_regression_with_managed_session(tmp_path):
    outputs = run_cluster("distribute.py", tmp_path, "--learning_rate=0.01", "--steps=2000", f"--logdir={tmp_path}/logs")
    for output in outputs:
        weight, bias = map(float, re.search(r"Done: weight ([-\d.]+), biase ([-\d.]+)", output).groups())
        assert abs(weight - 2) < 0.3 and abs(bias - 10) < 0.3


@pytest.mark.parametrize("sync", [False, True])
def test_sigmoid_with_name_scopes_and_summaries(tmp_path, sync):
    outputs = run_cluster("sigmoid_mnist.py", tmp_path, f"--sync={sync}", "--batches=200", f"--logs_path={tmp_path}/logs")
    for output in outputs:
        assert float(re.search(r"Test-Accuracy: ([\d.]+)", output).group(1)) > 0.5 and output.rstrip().endswith("done")


@pytest.mark.parametrize("source", ["dataset", "queue"])
def test_towers_with_averages_and_clipping(tmp_path, source):
    # Queues hand out examples in another order each time: after the default 60 steps the loss is sometimes still above 0.5.
    output = finish(start("cifar10_multi_tower.py", f"--input={source}", "--max_steps=120", cwd=tmp_path))
    assert float(re.search(r"Done: loss ([\d.]+)", output).group(1)) < 0.5
