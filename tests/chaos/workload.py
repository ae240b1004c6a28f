# SPDX-License-Identifier: Apache-2.0
"""One task of the training that the chaos harness disturbs: `workload.py CONFIG JOB INDEX`.

Each worker adds 1 to counters of its own, one on each ps, and to the global step. It writes what it sees after each answered step
and when a session is made as a line of JSON, so that invariants.py can tell whether a step was lost or applied twice.
"""
import json
import sys
import time

import millstream as tf


class Log:
    def __init__(self, path):
        self._file = open(path, "a", buffering=1, encoding="utf-8")

    def write(self, event, **fields):
        self._file.write(json.dumps({"t": time.time(), "event": event, **fields}) + "\n")


class Counters:
    """The variables and the update of this worker."""

    def __init__(self, config, index):
        self._num_ps = len(config["cluster"]["ps"])
        self.global_step = self._on_ps(0, lambda: tf.train.get_or_create_global_step())
        workers = range(len(config["cluster"]["worker"]))
        self.weights = [self._on_ps(p, lambda p=p: tf.get_variable(f"weights_{p}", [config["size"]], initializer=tf.zeros_initializer()))
                        for p in range(self._num_ps)]
        counts = [[self._on_ps(p, lambda p=p, w=w: tf.get_variable(f"count_{p}_{w}", [], tf.int64, tf.zeros_initializer(), trainable=False))
                   for w in workers] for p in range(self._num_ps)]
        self.mine = [of_ps[index] for of_ps in counts]

    def _on_ps(self, ps, make):
        with tf.device(f"/job:ps/task:{ps}"):
            return make()

    def count(self):
        """Adds 1 to this worker's counters; their values afterwards."""
        return [tf.identity(tf.assign_add(v, 1, use_locking=True)) for v in self.mine]

    def loss(self):
        """Its gradient is -1 everywhere, so that each step of gradient descent at rate 1 adds 1."""
        return -tf.add_n([tf.reduce_sum(w) for w in self.weights])

    def state(self):
        return {"global_step": self.global_step, "mine": self.mine, "weights": [w[0] for w in self.weights]}


def _plain(values):
    return {k: [float(x) for x in v] if isinstance(v, list) else int(v) for k, v in values.items()}


class NoteSessions(tf.train.SessionRunHook):
    """Writes the state that a new session finds."""

    def __init__(self, log, counters):
        self._log, self._state = log, counters.state()

    def after_create_session(self, session, coord):
        self._log.write("created", **_plain(session.run(self._state)))


def _train(session, step, log, pause):
    while not session.should_stop():
        log.write("step", **_plain(session.run(step)))
        time.sleep(pause)


def _worker(config, index, server, log):
    device = tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=tf.train.ClusterSpec(config["cluster"]))
    with tf.device(device):
        counters = Counters(config, index)
        hooks = [NoteSessions(log, counters)]
        if config["mode"] == "sync":
            workers = len(config["cluster"]["worker"])
            optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), workers, workers)
            train = optimizer.minimize(counters.loss(), counters.global_step)
            hooks.append(optimizer.make_session_run_hook(index == 0))
        else:
            train = tf.train.GradientDescentOptimizer(1.0, use_locking=True).minimize(counters.loss(), counters.global_step)
        with tf.control_dependencies([train]):
            step = {"mine": counters.count(), "global_step": tf.identity(counters.global_step)}
    folder = config["checkpoints"] or None
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, checkpoint_dir=folder, hooks=hooks, save_checkpoint_secs=2,
                                           save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None) as session:
        _train(session, step, log, config["pause"])


def _plain_worker(config, index, server, log):
    """Sessions without anything around them: a program that makes a new one when it fails, as people write it."""
    counters = Counters(config, index)
    step = {"mine": counters.count(), "global_step": tf.assign_add(counters.global_step, 1, use_locking=True)}
    missing = tf.report_uninitialized_variables()
    initialize = tf.global_variables_initializer()
    while True:
        try:
            with tf.Session(server.target) as session:
                if session.run(missing).size:
                    if index == 0:
                        session.run(initialize)
                    time.sleep(0.2)
                    continue
                log.write("created", **_plain(session.run(counters.state())))
                while True:
                    log.write("step", **_plain(session.run(step)))
                    time.sleep(config["pause"])
        except (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.FailedPreconditionError, tf.errors.DeadlineExceededError) as error:
            log.write("failed", error=str(error)[:300])
            time.sleep(0.2)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        config = json.load(f)
    job, index = sys.argv[2], int(sys.argv[3])
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    if job == "ps":
        server.join()
        return
    log = Log(config["logs"][index])
    log.write("started")
    (_plain_worker if config["mode"] == "plain" else _worker)(config, index, server, log)


if __name__ == "__main__":
    main()
