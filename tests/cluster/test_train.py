# SPDX-License-Identifier: Apache-2.0
"""`millstream train` as a person runs it: models, modes, data, what the terminal shows, signals, and that nothing is left behind."""
import concurrent.futures
import contextlib
import fcntl
import glob
import json
import os
import pty
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

import millstream as tf
from cluster_processes import free_ports
from train_command import events as _events, summary_of as _summary, train as _train

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
from terminal_picture import Screen


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _wait_until(what, seconds=60):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def _answers(target):
    host, port = target.split("//")[1].rstrip("/").rsplit(":", 1)
    with socket.socket() as s:
        return s.connect_ex((host, int(port))) == 0


def _assert_nothing_left(events):
    """No task lives and none of their ports answers; a killed process may need a moment to let go of its port."""
    started = [e for e in events if e["event"] == "started"]
    assert started
    for event in started:
        _wait_until(lambda e=event: not _alive(e["pid"]) and not _answers(e["target"]), 20)
        assert ("status_page" in event) == (event["task"] == "worker:0")
        assert not _answers(event.get("status_page", event["target"]))


class _Job:
    """A training that is watched while it runs."""

    def __init__(self, program, *args):
        command = [program, "train", "--json", *map(str, args)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.events = []

    def until(self, wanted):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.events.append(json.loads(line))
                if wanted(self.events[-1]):
                    return self.events[-1]
        raise AssertionError("ended before: " + self.process.stderr.read())

    def end(self, timeout=60):
        out, err = self.process.communicate(timeout=timeout)
        self.events += _events(out)
        return self.process.returncode, err

    def pid(self, task):
        return next(e["pid"] for e in self.events if e["event"] == "started" and e["task"] == task)


MODES = ["async", "sync", "dc-asgd", "allreduce", "ssp", "local-sgd", "hierarchical"]
# Steps are few: enough to tell learning from guessing (10 %).
STEPS_AND_ACCURACY = {"softmax": (400, 0.8), "linear": (400, 0.6), "mlp": (400, 0.85), "lenet": (100, 0.6), "wide-deep": (400, 0.85)}
MODELS = list(STEPS_AND_ACCURACY)


@pytest.mark.parametrize("page, names", [("modes", MODES), ("models", MODELS)])
def test_the_lists_are_those_of_the_command(program, page, names):
    table = subprocess.run([program, "reference", page], capture_output=True, text=True, check=True).stdout
    assert sorted(re.findall(r"^\| `([a-z][a-z-]*)`", table, re.M)) == sorted(names)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model, steps, accuracy", [(model, *limits) for model, limits in STEPS_AND_ACCURACY.items()])
def test_every_model_in_every_mode(program, small_mnist, model, steps, accuracy, mode):
    small = ["--hidden_units", 64] if model == "lenet" else []
    done = _train(program, "--model", model, "--mode", mode, "--data_dir", small_mnist, "--train_steps", steps, "--batch_size", 50, "--logdir", "", *small)
    summary = _summary(done)
    assert summary["accuracy"] > accuracy, summary
    assert summary["test_examples"] == 1000
    assert summary["global_step"] >= steps
    _assert_nothing_left(_events(done.stdout))
    if model == "mlp" and mode == "async":
        assert 10 < summary["tasks"]["ps:0"]["memory_mb"] < 60


@pytest.fixture(scope="module")
def tiny_images(tmp_path_factory):
    """8x8 images of 4 classes that any model tells apart after a few steps: a bright quarter names the class."""
    folder, rng = tmp_path_factory.mktemp("tiny"), random.Random(1)
    for name, count in [("train", 600), ("t10k", 100)]:
        labels = [rng.randrange(4) for _ in range(count)]
        pixels = bytes(200 + rng.randrange(50) if i // 16 == label else rng.randrange(50) for label in labels for i in range(64))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">iiii", 0x803, count, 8, 8) + pixels)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">ii", 0x801, count) + bytes(labels))
    return folder


def _ps_of_variables(logdir):
    """The tasks that hold the variables, as the meta graph of the last checkpoint has them."""
    from millstream.proto import meta_graph_pb2
    with open(tf.train.latest_checkpoint(str(logdir)) + ".meta", "rb") as file:
        graph = meta_graph_pb2.MetaGraphDef.FromString(file.read()).graph_def
    return {node.device for node in graph.node if node.op == "VariableV2" and node.device.startswith("/job:ps")}


def _train_on(program, folder, logdir, model, mode, ps, workers, links):
    """What is wrong with a training of that size; "" if it went well."""
    small = ["--hidden_units", 8] if model in ("lenet", "mlp", "wide-deep") else []
    done = _train(program, "--model", model, "--mode", mode, "--ps", ps, "--workers", workers, "--data_dir", folder,
                  "--train_steps", 60, "--batch_size", 20, "--threads", 1, "--logdir", logdir, *small,
                  env={**os.environ, "MILLSTREAM_LINKS": links})
    size = f"{model} {mode} with {ps} ps and {workers} workers over {links}: "
    if done.returncode != 0:
        return size + done.stderr
    summary, tasks = _events(done.stdout)[-1], _ps_of_variables(logdir)
    if summary["global_step"] < 60 or summary["accuracy"] <= 0.5:  # 0.25 is guessing
        return size + str(summary)
    return "" if len(tasks) == ps else f"{size}variables are on {sorted(tasks)}"


LINKS = ["shm,tcp,grpc", "tcp", "grpc"]


# Each run is short; two at a time keep two cores busy while tasks start and end. Links take turns: each meets each size in each mode.
# Hierarchical training meets a dense model and one with sparse gradients until its workers have been seen to end reliably (docs/roadmap.md).
@pytest.mark.parametrize("model, mode", [(model, mode) for mode in MODES for model in (("mlp", "wide-deep") if mode == "hierarchical" else MODELS)])
def test_every_size_of_cluster(program, tiny_images, tmp_path, model, mode):
    turn = MODELS.index(model)
    servers, workers = ((0,), (1, 2, 3, 4)) if mode in ("allreduce", "local-sgd") else ((1, 2, 3), (1, 2, 3))
    sizes = [(ps, count, LINKS[(turn + ps + 2 * count) % 3]) for ps in servers for count in workers]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = pool.map(lambda size: _train_on(program, tiny_images, tmp_path / "x".join(map(str, size)), model, mode, *size), sizes)
        wrong = [words for words in wrong if words]
    assert not wrong, "\n".join(wrong)


def test_files_of_a_training(program, small_mnist, tmp_path):
    logdir = tmp_path / "logs"
    done = _train(program, "--data_dir", small_mnist, "--model", "softmax", "--train_steps", 300, "--eval_steps", 100, "--ps", 2, "--logdir", logdir)
    summary = _summary(done)
    checkpoint = tf.train.latest_checkpoint(str(logdir))
    assert checkpoint == summary["checkpoint"]
    reader = tf.train.NewCheckpointReader(checkpoint)
    assert reader.get_variable_to_shape_map()["softmax/kernel"] == [784, 10]
    assert reader.get_tensor("global_step") >= 300
    tags = {v.tag for path in glob.glob(f"{logdir}/events*") for e in tf.train.summary_iterator(path) for v in e.summary.value}
    assert {"loss", "accuracy", "global_step/sec"} <= tags
    evals = [v.simple_value for path in glob.glob(f"{logdir}/eval/events*") for e in tf.train.summary_iterator(path) for v in e.summary.value if v.tag == "accuracy"]
    assert len(evals) >= 2 and max(evals) > 0.7
    # The same command goes on from there, and has nothing to do when all was done.
    again = _train(program, "--data_dir", small_mnist, "--model", "softmax", "--train_steps", 500, "--logdir", logdir)
    events = _events(again.stdout)
    assert any(e["event"] == "restored" and e["path"] == checkpoint for e in events)
    assert _summary(again)["global_step"] >= 500


def test_all_reduce_gives_the_same_bits_in_every_run(program, small_mnist, tmp_path):
    """Three workers; each gradient is ready at another time in each run, and fused with others."""
    def values(run):
        done = _train(program, "--model", "mlp", "--mode", "allreduce", "--workers", 3, "--data_dir", small_mnist, "--train_steps", 60, "--batch_size", 20,
                      "--logdir", tmp_path / run)
        reader = tf.train.NewCheckpointReader(_summary(done)["checkpoint"])
        return {name: reader.get_tensor(name).tobytes() for name in reader.get_variable_to_shape_map()}

    assert values("one") == values("two")


def test_all_reduce_goes_on_from_a_checkpoint(program, small_mnist, tmp_path):
    """The chief alone has the checkpoint, and gives the values to the others."""
    flags = ["--model", "softmax", "--mode", "allreduce", "--workers", 2, "--data_dir", small_mnist, "--logdir", tmp_path, "--batch_size", 50]
    first = _summary(_train(program, *flags, "--train_steps", 200))
    again = _train(program, *flags, "--train_steps", 220)
    assert _summary(again)["global_step"] == 220 and first["global_step"] == 200
    assert _summary(again)["accuracy"] > first["accuracy"] - 0.05
    done = {e["task"]: (e["local_step"], e["global_step"]) for e in _events(again.stdout) if e["event"] == "done"}
    assert done == {"worker:0": (20, 220), "worker:1": (20, 220)}


@pytest.mark.parametrize("flags, words", [(["--mode", "allreduce", "--ps", 1], "has no parameter servers"), (["--mode", "sync", "--ps", 0], "needs parameter servers")])
def test_modes_and_parameter_servers_must_fit(program, flags, words):
    done = _train(program, *flags)
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.parametrize("mode", ["async", "sync", "allreduce"])
def test_a_finished_run_that_is_started_again_says_so(program, small_mnist, tmp_path, mode):
    flags = ["--data_dir", small_mnist, "--model", "softmax", "--mode", mode, "--train_steps", 50, "--logdir", tmp_path]
    step = _summary(_train(program, *flags))["global_step"]
    again = _train(program, *flags)
    summary = _summary(again)
    assert summary["nothing_to_do"] and summary["global_step"] == step
    assert [e["global_step"] for e in _events(again.stdout) if e["event"] == "nothing_to_do"] == [step]
    assert summary["accuracy"] > 0.3  # evaluated all the same
    shown = subprocess.run([program, "train", *map(str, flags)], capture_output=True, text=True, timeout=120)
    assert shown.returncode == 0 and "Nothing to train after" in shown.stdout and "Done" not in shown.stdout
    assert f"is at step {step} already" in shown.stderr


def test_periodic_saves_are_events(program, small_mnist, tmp_path):
    job = _Job(program, "--data_dir", small_mnist, "--train_steps", 10**9, "--save_checkpoint_secs", 0.2, "--logdir", tmp_path)
    first = job.until(lambda e: e["event"] == "saved")
    assert first["global_step"] == 0 and first["path"] == str(tmp_path / "model.ckpt-0")
    for _ in range(2):
        saved = job.until(lambda e: e["event"] == "saved")
        assert saved["path"] == str(tmp_path / f"model.ckpt-{saved['global_step']}") and saved["global_step"] > 0
    job.process.send_signal(signal.SIGINT)
    code, err = job.end()
    assert code == 130, err
    assert job.events[-1]["checkpoint"] == [e for e in job.events if e["event"] == "saved"][-1]["path"]


def test_a_chief_that_comes_back_says_that_it_kept_the_live_variables(program, small_mnist, tmp_path):
    job = _Job(program, "--data_dir", small_mnist, "--train_steps", 10**9, "--max_restarts", 1, "--logdir", tmp_path)
    job.until(lambda e: e["event"] == "progress" and e["global_step"] > 100)
    os.kill(job.pid("worker:0"), signal.SIGKILL)
    kept = job.until(lambda e: e["event"] in ("restored", "kept_live_variables"))
    assert kept["event"] == "kept_live_variables" and kept["path"] == str(tmp_path / "model.ckpt-0")
    job.process.send_signal(signal.SIGINT)
    code, err = job.end()
    assert code == 130, err


def test_variables_are_balanced_over_ps_by_size(program, small_mnist):
    done = _train(program, "--model", "mlp", "--hidden_units", "100,100,100", "--ps", 3, "--data_dir", small_mnist, "--train_steps", 20, "--logdir", "")
    tasks = _summary(done)["tasks"]
    placed = next(e for e in _events(done.stdout) if e["event"] == "variables")["bytes"]
    assert placed == {name: tasks[name]["variable_bytes"] for name in ["ps:0", "ps:1", "ps:2"]}
    # Greedy by size, Adam's two slots beside each variable: the largest one alone on a task, the others share the rest.
    largest = 3 * 784 * 100 * 4
    assert max(placed.values()) == largest
    rest = sorted(placed.values())[:2]
    assert sum(rest) >= 3 * 2 * 100 * 100 * 4 and rest[1] < 1.2 * rest[0], placed


def _write_csv(path, rows, label):
    with open(path, "w") as f:
        f.write("height,weight,colour,shape,answer\n")
        for i in range(rows):
            rng = random.Random(i)
            row = [rng.uniform(0, 100), rng.uniform(0, 10), rng.choice(["red", "green", "blue"]), rng.choice(["round", "square"])]
            f.write(",".join(map(str, row)) + f",{label(*row)}\n")


def test_csv_with_categories(program, tmp_path):
    # Only pairs of categories tell: what neither numbers nor single columns can.
    _write_csv(tmp_path / "a.csv", 4000, lambda h, w, c, s: "yes" if (c == "red") == (s == "round") else "no")
    done = _train(program, "--model", "wide-deep", "--data_dir", tmp_path / "a.csv", "--train_steps", 400, "--logdir", "")
    assert _summary(done)["accuracy"] > 0.95
    data = next(e for e in _events(done.stdout) if e["event"] == "data")
    assert data["text"] == "3600 + 400 examples of 2 numbers and 2 categories, 2 classes (CSV)"
    assert data["label"] == "answer" and data["categories"] == ["colour", "shape"]
    notes = [e["text"] for e in _events(done.stdout) if e["event"] == "note"]
    assert "label: 'answer' (the last column; --label_column names another), classes no, yes" in notes
    assert "categories: colour, shape" in notes


def _write_rows(path, odd):
    rows = [f"{i}.5,{i % 7},{'yes' if i % 2 else 'no'}" for i in range(100)]
    for number, row in odd.items():
        rows[number - 2] = row  # by line: the header is the first
    path.write_text("\n".join(["age,size,label", *rows]) + "\n")


def test_odd_cells_of_csv(program, tmp_path):
    flags = ["--data_dir", tmp_path / "a.csv", "--model", "softmax", "--train_steps", 20, "--logdir", ""]
    _write_rows(tmp_path / "a.csv", {17: "old,1,yes"})
    done = _train(program, *flags)
    assert done.returncode == 1
    assert "a.csv line 17, column 'age': 'old' is not a finite number, but 99 of 100 cells are" in done.stderr
    done = _train(program, *flags, "--missing-values", "old,young")
    assert done.returncode == 0, done.stderr
    assert any("missing: 1 of 100 values of 'age' (the first: 'old' in " in e.get("text", "") for e in _events(done.stdout))
    _write_rows(tmp_path / "a.csv", {17: "nan,1,yes"})
    done = _train(program, *flags)
    assert _summary(done)["global_step"] >= 20
    assert next(e for e in _events(done.stdout) if e["event"] == "data")["text"].startswith("90 + 10 examples of 2 numbers, 2 classes")
    _write_rows(tmp_path / "a.csv", {17: "3,1,"})
    done = _train(program, *flags)
    assert done.returncode == 1 and "a.csv line 17: the label (column 'label') is missing" in done.stderr


def test_flags_that_the_data_does_not_use(program, small_mnist):
    for flag in ["--label_column", "--missing_values", "--category_columns"]:
        done = _train(program, "--data_dir", small_mnist, flag, "x", "--logdir", "")
        assert done.returncode == 2 and f"{flag} is not used: the data is IDX" in done.stderr
        assert not _events(done.stdout)


def test_csv_with_values(program, tmp_path):
    _write_csv(tmp_path / "train.csv", 2000, lambda h, w, c, s: 3.5 * h - 20 * w + 1000.5)
    _write_csv(tmp_path / "test.csv", 100, lambda h, w, c, s: 3.5 * h - 20 * w + 1000.5)
    done = _train(program, "--model", "linear", "--learning_rate", 0.3, "--data_dir", tmp_path, "--train_steps", 600, "--logdir", "")
    assert _summary(done)["r2"] > 0.95
    assert "models that also use the 2 columns of categories: wide-deep" in done.stdout


def test_tfrecords(program, tmp_path):
    rng = random.Random(1)
    with tf.python_io.TFRecordWriter(str(tmp_path / "part-0.tfrecord")) as writer:
        for _ in range(2000):
            label = rng.randrange(4)
            image = bytes(200 + rng.randrange(50) if i // 16 == label else rng.randrange(50) for i in range(64))
            feature = {
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                "image_raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    done = _train(program, "--model", "lenet", "--hidden_units", 32, "--data_dir", tmp_path, "--train_steps", 60, "--logdir", "")
    assert _summary(done)["accuracy"] > 0.9
    assert "(TFRecords)" in done.stdout


@pytest.mark.parametrize(
    "args, words",
    [
        (["--model", "resnet"], "resnet"),
        (["--mode", "turbo"], "turbo"),
        (["--workers", "0"], "--workers"),
        (["--train_steps", "many"], "many"),
        (["--data_dir", "/no/such/folder"], "/no/such/folder: no such file"),
        (["--optimizer", "momentum", "--model", "softmax"], "--learning_rate"),
        (["--mode", "dc-asgd", "--optimizer", "adam"], "gradient descent itself"),
        (["--replicas_to_aggregate", "2"], "--mode sync"),
        (["--job_name", "evaluator", "--ps_hosts", "localhost:1", "--worker_hosts", "localhost:2"], "evaluator"),
        (["--job_name", "worker"], "which cluster?"),
        (["--model", "softmax", "--hidden_units", "10"], "--hidden_units is not used by --model softmax --mode async; it is for --model lenet, --model mlp"),
        (["--model", "lenet", "--hidden-units", "10,20"], "--hidden_units=10,20: it takes one whole number"),
        (["--mode", "sync", "--dc-lambda", "0.1"], "it is for --mode dc-asgd"),
        (["--mode", "sync", "--replicas_to_aggregate", "3"], "more than the 2 workers"),
        (["--mode", "hierarchical", "--group_size", "3"], "more than the 2 workers"),
        (["--mode", "ssp", "--staleness", "-1"], "one whole number from 0 to 1048576"),
        (["--mode", "allreduce", "--compression", "zip"], "it takes one of none, fp16, bf16, topk"),
        (["--mode", "allreduce", "--topk_ratio", "2"], "above 0 and at most 1"),
        (["--logdir", "", "--save_checkpoint_secs", "5"], "writes no checkpoints"),
        (["--task_index", "1"], "--job_name"),
        (["--ps_hosts", "localhost:1"], "--job_name"),
        (["--job_name", "worker", "--ps_hosts", "localhost:1", "--worker_hosts", "localhost:2", "--workers", "3"], "--workers is not used by a single task"),
    ],
)
def test_wrong_flags(program, args, words):
    done = _train(program, *args)
    assert done.returncode == (1 if "/no/such/folder" in args else 2)
    assert words in done.stderr, done.stderr
    assert not _events(done.stdout)


def test_data_that_cannot_be_used(program, small_mnist, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3\n")
    done = _train(program, "--data_dir", tmp_path, "--logdir", "")
    assert done.returncode == 1
    assert done.stderr.count("a.csv line 3: 1 columns, not 2") == 1  # although both workers read it
    assert sum(e["event"] == "summary" and e["failed"] for e in _events(done.stdout)) == 1
    _assert_nothing_left(_events(done.stdout))
    (tmp_path / "a.csv").write_text("x,y\n1.5,2.5\n3.5,4.5\n5.5,6.5\n")
    done = _train(program, "--data_dir", tmp_path, "--logdir", "", "--model", "lenet")
    assert done.returncode == 1 and "the labels are values" in done.stderr
    done = _train(program, "--data_dir", small_mnist, "--logdir", "/proc/nowhere", "--train_steps", 10)
    assert done.returncode == 1 and "/proc/nowhere" in done.stderr


def test_a_loss_that_explodes_is_said(program, small_mnist):
    flags = ["--model", "linear", "--learning_rate", 100, "--data_dir", small_mnist, "--logdir", ""]
    done = _train(program, *flags)
    assert done.returncode == 1
    assert "a smaller --learning_rate" in done.stderr
    shown = subprocess.run([program, "train", *map(str, flags)], capture_output=True, text=True, timeout=120)
    assert shown.returncode == 1 and "Done after" not in shown.stdout
    lines = [line for line in shown.stderr.splitlines() if "a smaller --learning_rate" in line]
    assert len(lines) == 1, shown.stderr


def test_interrupt_once_saves_and_stops(program, small_mnist, tmp_path):
    job = _Job(program, "--data_dir", small_mnist, "--train_steps", 10**9, "--logdir", tmp_path)
    job.until(lambda e: e["event"] == "progress" and e["global_step"] > 50)
    job.process.send_signal(signal.SIGINT)
    code, _ = job.end()
    assert code == 130
    summary = job.events[-1]
    assert summary["interrupted"] and summary["checkpoint"] == tf.train.latest_checkpoint(str(tmp_path))
    _assert_nothing_left(job.events)
    step = int(summary["checkpoint"].rsplit("-", 1)[1])
    again = _train(program, "--data_dir", small_mnist, "--train_steps", step + 100, "--logdir", tmp_path)
    assert _summary(again)["global_step"] >= step + 100
    restored = next(e for e in _events(again.stdout) if e["event"] == "restored")
    assert restored["path"] == summary["checkpoint"]


@contextlib.contextmanager
def _frozen(pid):
    """Stops a process again and again, since the launcher continues the stopped ones before it ends them."""
    done = threading.Event()

    def freeze():
        while not done.wait(0.001):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    thread = threading.Thread(target=freeze)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_interrupt_twice_kills(program, small_mnist, tmp_path):
    job = _Job(program, "--data_dir", small_mnist, "--train_steps", 10**9, "--logdir", tmp_path)
    job.until(lambda e: e["event"] == "progress")
    with _frozen(job.pid("worker:0")):
        job.process.send_signal(signal.SIGINT)
        for line in job.process.stderr:  # until the first signal has been handled
            if "stopping all tasks" in line:
                break
        assert job.process.poll() is None
        job.process.send_signal(signal.SIGINT)
        code, _ = job.end(timeout=20)
    assert code != 0
    _assert_nothing_left(job.events)


def test_a_killed_parent_leaves_nothing(program, small_mnist, tmp_path):
    job = _Job(program, "--data_dir", small_mnist, "--train_steps", 10**9, "--logdir", tmp_path)
    job.until(lambda e: e["event"] == "progress")
    job.process.kill()
    job.end()
    _assert_nothing_left(job.events)


def test_no_temporary_files(program, small_mnist, tmp_path):
    folder = tmp_path / "tmp"
    folder.mkdir()
    done = _train(program, "--data_dir", small_mnist, "--train_steps", 50, "--logdir", "", cwd=tmp_path, env={**os.environ, "TMPDIR": str(folder)})
    assert done.returncode == 0
    assert os.listdir(folder) == [] and os.listdir(tmp_path) == ["tmp"]


def test_a_dead_task_is_reported(program, small_mnist):
    job = _Job(program, "--data_dir", small_mnist, "--train_steps", 10**9, "--logdir", "")
    job.until(lambda e: e["event"] == "progress")
    os.kill(job.pid("worker:1"), signal.SIGKILL)
    code, err = job.end()
    assert code == 137
    assert "worker:1 failed: " in err
    assert job.events[-1]["failed"] and not job.events[-1]["interrupted"]
    assert '"event"' not in err
    _assert_nothing_left(job.events)


@pytest.mark.parametrize("task", ["worker:1", "ps:0"])
def test_a_dead_task_is_started_again(program, small_mnist, tmp_path, task):
    flags = ["--data_dir", small_mnist, "--train_steps", 10**9, "--max_restarts", 1, "--save_checkpoint_secs", 0.5, "--logdir", tmp_path]
    job = _Job(program, *flags)
    job.until(lambda e: e["event"] == "progress" and e["global_step"] > 200)
    os.kill(job.pid(task), signal.SIGKILL)
    job.until(lambda e: e["event"] == "started" and e["task"] == task)
    step = job.until(lambda e: e["event"] == "progress")["global_step"]
    job.until(lambda e: e["event"] == "progress" and e["global_step"] > step + 200)
    job.process.send_signal(signal.SIGINT)
    code, err = job.end()
    assert code == 130, err
    assert job.events[-1]["global_step"] > step + 200
    assert sum(e["event"] == "started" and e["task"] == task for e in job.events) == 2
    _assert_nothing_left(job.events)


def _on_terminal(command, columns, interrupt_at=None):
    """What the command writes to a terminal of that width, and its exit code. Ctrl-C is typed once the output has `interrupt_at`."""
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
        os.execv(command[0], command)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if interrupt_at and interrupt_at in shown:
            interrupt_at = None
            os.write(master, b"\x03")
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_the_picture_on_a_terminal(program, small_mnist, tmp_path):
    command = [program, "train", "--data_dir", str(small_mnist), "--train_steps", "10000", "--logdir", str(tmp_path / "logs")]
    code, shown = _on_terminal(command, columns=120)
    assert code == 0
    picture = shown.rsplit("\x1b[J", 2)[-2]
    for words in ["mlp · async · 1 ps + 2 workers", "6000 + 1000 examples of 28x28 numbers, 10 classes (IDX)", "step 10,00", "100 %", "worker:0", "worker:1", "ps:0", "of variables"]:
        assert words in picture, picture
    for words in ["steps/s", "examples/s", "loss", "ETA"]:
        assert words in shown
    summary = shown.rsplit("\x1b[J", 1)[-1]
    for words in ["Done after", "accuracy", "the first one", "model.ckpt-", "tensorboard --logdir"]:
        assert words in summary, summary


def _picture_lines(shown):
    """The lines of the live picture, which is drawn over; messages, which stay above it, are left to the terminal to wrap."""
    pictures = [drawn.rpartition("millstream train: ")[2] for drawn in shown.split("\x1b[J") if "millstream train: " in drawn]
    assert pictures
    lines = [line for picture in pictures for line in re.split(r"[\r\n]+", "millstream train: " + picture)]
    return [re.sub(r"\x1b\[[0-9]*[AJKm]", "", line) for line in lines]


@pytest.mark.parametrize("columns", [40, 80])
def test_nothing_is_cut_on_a_narrow_terminal(program, small_mnist, columns):
    command = [program, "train", "--data_dir", str(small_mnist), "--train_steps", "10000", "--logdir", ""]
    code, shown = _on_terminal(command, columns)
    assert code == 0, shown
    pictures = [re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9]*[AK]", "", picture)) for picture in shown.split("\x1b[J")[:-1]]
    for words in ["batch 100 · adam 0.002", "10 classes (IDX)", "status page http://", "% cpu"]:
        assert any(words in picture for picture in pictures), pictures[-1]
    assert any(re.search(r"step \S+/10,000 \d+ % \S+ steps/s \S+ examples/s loss \S+ accuracy \S+ % ETA \S+", picture) for picture in pictures), pictures[-2:]
    assert max(map(len, _picture_lines(shown))) < columns


def test_interrupt_keeps_the_lines_of_a_terminal_whole(program, small_mnist, tmp_path):
    command = [program, "train", "--data_dir", str(small_mnist), "--train_steps", str(10**9), "--logdir", str(tmp_path / "logs")]
    code, shown = _on_terminal(command, 100, interrupt_at=b"examples/s")
    assert code == 130, shown
    assert "^C" in shown  # the terminal's echo, wherever the cursor was
    screen = Screen()
    screen.write(shown)
    lines = screen.text().splitlines()
    assert sum("^C" in line for line in lines) <= 1
    starts = ("millstream train: mlp", "  step ", "  worker:0 ", "  worker:1 ", "  ps:0 ", "  status page ", "Stopped after", "millstream: stopping all tasks")
    for start in starts:
        assert sum(line.startswith(start) for line in lines) >= 1, (start, lines)
    known = (*starts, "  ", "saved ", "variables: ", "told to stop: ", "^C")
    for line in lines:
        assert not line or line.startswith(known), line


def test_plain_lines_where_there_is_no_terminal(program, small_mnist):
    done = subprocess.run([program, "train", "--data_dir", str(small_mnist), "--train_steps", "300", "--logdir", ""], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "step 30" in done.stdout and "nothing was written" in done.stdout


def test_tasks_started_by_hand(program, small_mnist, tmp_path):
    ports = free_ports(2)
    where = ["--ps_hosts", f"localhost:{ports[0]}", "--worker_hosts", f"localhost:{ports[1]}", "--logdir", str(tmp_path), "--train_steps", "100"]
    ps = subprocess.Popen([program, "train", *where, "--job_name", "ps"], stdout=subprocess.PIPE, text=True)
    worker = subprocess.run([program, "train", *where, "--job_name", "worker", "--data_dir", str(small_mnist)], capture_output=True, text=True, timeout=120)
    assert worker.returncode == 0, worker.stderr
    assert "test accuracy" in worker.stdout
    assert ps.wait(30) == 0  # by itself: the job is done


@pytest.mark.parametrize("bound", [True, False], ids=["its process is there", "its process is not there"])
def test_a_worker_that_comes_after_the_chief_has_left(program, small_mnist, bound):
    ports = free_ports(3)
    where = ["--ps_hosts", f"localhost:{ports[0]}", "--worker_hosts", f"localhost:{ports[1]},localhost:{ports[2]}", "--logdir", "", "--train_steps", "50"]
    ps = subprocess.Popen([program, "train", *where, "--job_name", "ps"], stdout=subprocess.PIPE, text=True)
    worker = [program, "train", *where, "--data_dir", str(small_mnist), "--job_name", "worker", "--task_index"]
    try:
        with socket.create_server(("localhost", ports[2])) if bound else contextlib.nullcontext():
            subprocess.run([*worker, "0"], capture_output=True, timeout=120, check=True)
        assert ps.poll() is None
        subprocess.run([*worker, "1"], capture_output=True, timeout=120, check=True)
        assert ps.wait(30) == 0
    finally:
        ps.kill()
