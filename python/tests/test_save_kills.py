# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random points of saves: the latest checkpoint is always the old one or the new one, whole.

    pytest python/tests/test_save_kills.py --kills=200
"""
import json
import os
import subprocess
import sys

import pytest
import test_seeds

# One process imports the package and forks savers, so that a kill costs a few hundredths of a second. All tensors of a checkpoint
# hold its number: a mixture of two is seen.
PROGRAM = r'''
import json, os, random, signal, sys, time
import numpy as np
import millstream as tf
tf.logging.set_verbosity(tf.logging.ERROR)
kind, folder, ports, kills, seed = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
sharded, overwrite = "sharded" in kind, "overwrite" in kind
prefix = os.path.join(folder, "model.ckpt")

def save_until_killed(say):
    target, device = "", None
    if sharded:  # three tasks in this process: they die together
        spec = {"ps": ["localhost:%d" % p for p in ports[:2]], "worker": ["localhost:%d" % ports[2]]}
        servers = [tf.train.Server(spec, job_name="ps", task_index=i) for i in range(2)]
        servers.append(tf.train.Server(spec, job_name="worker", task_index=0))
        target, device = servers[2].target, tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(spec))
    value = tf.placeholder(tf.int64, [])
    with tf.device(device):
        step = tf.train.get_or_create_global_step()
        made = [tf.get_variable("v%d" % i, [n], initializer=tf.zeros_initializer()) for i, n in enumerate([1, 1000, 300000])]
        made += list(tf.get_variable("parts", [90, 100], partitioner=tf.fixed_size_partitioner(3), initializer=tf.zeros_initializer()))
        made.append(tf.get_variable("words", initializer=np.array([b"0"] * 50), dtype=tf.string))
    update = [step.assign(value)]
    for v in made:
        filler = tf.as_string(value) if v.dtype.base_dtype == tf.string else tf.cast(value, v.dtype.base_dtype)
        update.append(v.assign(tf.fill(v.shape, filler)).op)
    saver = tf.train.Saver(sharded=sharded, max_to_keep=2)
    with tf.Session(target) as sess:
        latest = tf.train.latest_checkpoint(folder)
        if latest is None:
            sess.run(tf.global_variables_initializer())
        else:
            saver.restore(sess, latest)
            saver.recover_last_checkpoints(tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths)
        number = int(sess.run(step))
        while True:
            os.write(say, b"%d\n" % number)  # this one is safe
            number += 1
            sess.run(update, {value: number})
            saver.save(sess, prefix, global_step=None if overwrite else number)

def check(safe):
    latest = tf.train.latest_checkpoint(folder)
    if latest is None:
        assert safe <= 0, "checkpoint %d is gone" % safe
        return 0
    reader = tf.train.load_checkpoint(latest)
    numbers = set()
    for name in ["global_step", "v0", "v1", "v2", "parts", "words"]:
        numbers.update(int(n) for n in np.unique(reader.get_tensor(name)))
    assert len(numbers) == 1, "a mixture of checkpoints: %s" % sorted(numbers)
    number = numbers.pop()
    assert number in (safe, safe + 1), "%d after %d was saved" % (number, safe)
    assert os.path.exists(latest + ".meta")
    for listed in tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths:
        reader = tf.train.load_checkpoint(listed)
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)
    return number

def check_leftovers(child):
    """Of the save that was killed, and of none before it: the first save of this process has removed them."""
    names = os.listdir(folder)
    of_others = [n for n in names if ".tmp-" in n and "-%d-" % child not in n]
    without_index = {n.partition(".data-")[0] for n in names if ".data-" in n} - {n[:-6] for n in names if n.endswith(".index")}
    assert not of_others and len(without_index) <= 1 and len([n for n in names if "_temp_" in n]) <= 1, "leftovers"

rng, seen, save_time = random.Random(seed), 0, 0.03
for kill in range(kills):
    listen, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(listen)
            save_until_killed(say)
        except BaseException:
            import traceback
            traceback.print_exc()
        os._exit(1)
    os.close(say)
    lines, arrivals = b"", []
    while lines.count(b"\n") < 2:  # restored; one save done, so that its time is known
        more = os.read(listen, 100)
        assert more, "kill %d: a saver ended by itself" % kill
        lines += more
        arrivals += [time.monotonic()] * more.count(b"\n")
    save_time += 0.2 * (arrivals[1] - arrivals[0] - save_time)
    time.sleep(rng.uniform(0, 1.5 * save_time))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(listen, 100):
        lines += more
    os.close(listen)
    safe = int(lines.split()[-1])
    try:
        number = check(safe)
        check_leftovers(child)
    except BaseException as error:
        print("kill %d: %s: %s; files: %s" % (kill, type(error).__name__, error, sorted(os.listdir(folder))), flush=True)
        sys.exit(1)
    seen += number == safe + 1
print(json.dumps({"kills": kills, "new": seen}))
'''


@pytest.mark.parametrize("kind", ["numbered", "overwrite", "numbered sharded", "overwrite sharded"])
def test_killed_savers(tmp_path, kind, request):
    kills = max(1, request.config.getoption("--kills") // 4)
    ports = json.dumps(test_seeds.free_ports(3))
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind, str(tmp_path), ports, str(kills), str(len(kind))],
                          env={**os.environ, "PYTHONPATH": test_seeds.PACKAGES}, capture_output=True, text=True, timeout=60 + 5 * kills)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert json.loads(done.stdout.splitlines()[-1])["kills"] == kills
