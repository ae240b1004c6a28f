# SPDX-License-Identifier: Apache-2.0
"""Tasks of a job that a test starts, looks at, signals and waits for, each a process with its output in a file."""
import json
import os
import re
import subprocess
import time

from cluster_processes import _die_with_parent, _stands_still, free_ports

# What a task may take to end: seconds, and longer where it must first give up on a peer that is frozen.
END_SECS = 15
FROZEN_END_SECS = 40


def wait_until(what, seconds=120, say=lambda: "waited in vain"):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, say()
        time.sleep(0.02)


class Tasks:
    """`command(job, index)` is what a task runs; `jobs` like ps=1, worker=2. Nothing is started yet."""

    def __init__(self, folder, command, **jobs):
        ports = iter(free_ports(sum(jobs.values())))
        self.folder, self.command, self.processes, self.some_are_frozen = folder, command, {}, False
        self.hosts = {job: [f"localhost:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        self.checkpoints = str(folder / "checkpoints")

    def flags(self, job, index):
        return [f"--{name}_hosts={','.join(hosts)}" for name, hosts in self.hosts.items()] + [
            f"--job_name={job}", f"--task_index={index}"]

    @property
    def cluster(self):
        return json.dumps(self.hosts)

    def start(self, job, index, **environment):
        with open(self._log(job, index), "a", encoding="utf-8") as log:
            self.processes[job, index] = subprocess.Popen(
                [*self.command(job, index), *self.flags(job, index)], stdout=log, stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent, env={**os.environ, **environment})

    def start_all(self, **environment):
        for job, hosts in self.hosts.items():
            for index in range(len(hosts)):
                self.start(job, index, **environment)

    def _log(self, job, index):
        return self.folder / f"{job}{index}.log"

    def text(self, job, index):
        return self._log(job, index).read_text(encoding="utf-8")

    def everything(self):
        return "\n".join(f"--- {task}: {self.processes[task].poll()}\n{self.text(*task)[-3000:]}" for task in self.processes)

    def wait_for(self, job, index, pattern, seconds=120):
        """Until the task has written something that matches."""
        def found():
            assert self.processes[job, index].poll() is None or re.search(pattern, self.text(job, index)), self.everything()
            return re.search(pattern, self.text(job, index))
        wait_until(found, seconds, self.everything)

    def signal(self, job, index, number):
        self.processes[job, index].send_signal(number)

    def freeze(self, job, index):
        import signal
        self.signal(job, index, signal.SIGSTOP)
        wait_until(lambda: _stands_still(self.processes[job, index].pid), 60)
        self.some_are_frozen = True

    def freeze_so_that_it_is_missed(self, job, index, watched):
        """Freezes a synchronous worker at a point where the others cannot go on. Frozen while it computes, it has no token, and another
        worker takes its turns; so it is frozen again until `watched`, which writes as it works, falls silent."""
        import signal
        while True:
            self.freeze(job, index)
            written = len(self.text(*watched))
            deadline = time.monotonic() + 5
            while len(self.text(*watched)) == written and time.monotonic() < deadline:
                time.sleep(0.05)
            if len(self.text(*watched)) == written:
                return
            self.signal(job, index, signal.SIGCONT)
            self.wait_until_written(*watched, len(self.text(*watched)) + 1)

    def wait_until_written(self, job, index, length):
        wait_until(lambda: len(self.text(job, index)) >= length, say=self.everything)

    def signal_all(self, number):
        for process in self.processes.values():
            process.send_signal(number)

    def end(self, job, index):
        """Its exit status."""
        try:
            return self.processes[job, index].wait(FROZEN_END_SECS if self.some_are_frozen else END_SECS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{job} {index} did not end\n{self.everything()}") from None

    def ends(self):
        return {task: self.end(*task) for task in self.processes}

    def saved_step(self):
        """Of the latest checkpoint; -1 if there is none."""
        try:
            with open(os.path.join(self.checkpoints, "checkpoint"), encoding="utf-8") as f:
                return int(re.search(r'model_checkpoint_path: ".*-(\d+)"', f.read())[1])
        except (FileNotFoundError, TypeError):
            return -1

    def close(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
