# SPDX-License-Identifier: Apache-2.0
"""Disturbs a training job at random and checks that nothing hangs, is lost or is applied twice.

  python tests/chaos/chaos.py --seed 7 --faults 100 --mode async --ps 2

The same seed chooses the same faults. Prints one line for each fault, a table at the end, and returns 1 if an invariant was violated;
logs of all tasks stay in --folder.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import faults
import invariants
from hosts import make_hosts
from tasks import Tasks

MODES = ("async", "sync", "plain")


class Chaos:
    def __init__(self, options, folder):
        self._options, self._folder = options, folder
        rng = random.Random(f"{options.seed}")
        self.mode = options.mode if options.mode != "any" else rng.choice(MODES)
        self.num_ps = options.ps or rng.randint(1, 3)
        self.num_workers = options.workers or rng.randint(1, 3)
        self._hosts = make_hosts(options.hosts)
        self.tasks = Tasks(self._hosts, folder, self.mode, self.num_ps, self.num_workers, options.links)
        self._provided = {"network"} if self._hosts.has_network and options.hosts > 1 else set()
        self._mounted = False
        self._said = set()
        self.violations, self.recoveries = [], {}

    def run(self):
        try:
            self._mount()
            self.tasks.start_all()
            self._await_progress("the start", time.time())
            time.sleep(3)
            before = {name: (self.tasks.pid(name), invariants.usage(self.tasks.pid(name))) for name in self.tasks.names}
            for number in range(self._options.faults):
                if self.violations and self._options.stop_at_first:
                    break
                self._disturb(number)
            self._check_end(before)
        finally:
            self.tasks.stop()
            self._hosts.close()
            if self._mounted:
                subprocess.run(["umount", "-l", self.tasks.checkpoints], check=False)
        return not self.violations

    def _mount(self):
        """Checkpoints go to a disk of their own, so that it can be filled."""
        if not self.tasks.checkpoints:
            return
        os.makedirs(self.tasks.checkpoints)
        if os.geteuid() == 0:
            done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "chaos", self.tasks.checkpoints], check=False, capture_output=True)
            self._mounted = done.returncode == 0
        if self._mounted:
            self._provided.add("checkpoints")

    def _choose(self, rng):
        names = sorted(name for name, (_, needs) in faults.FAULTS.items() if needs <= self._provided)
        if self._options.only:
            names = [name for name in names if name in self._options.only.split(",")]
        return rng.choice(names)

    def _disturb(self, number):
        rng = random.Random(f"{self._options.seed}:{number}")
        name = self._choose(rng)
        broken = faults.FAULTS[name][0](self.tasks, rng)
        time.sleep(broken.seconds)
        may_end = broken.may_end_workers
        self._note_ended(name, may_end)
        broken.mend()
        seconds = self._await_progress(f"{name}: {broken.what}", time.time(), may_end)
        self.recoveries.setdefault(name, []).append(seconds)
        print(f"{number + 1:4d} {name}: {broken.what}; " + (f"all went on after {seconds:.1f} s" if seconds is not None else "HANG"), flush=True)

    def _note_ended(self, during, allowed):
        for task, code in self.tasks.ended().items():
            if code == -9:  # by the fault itself, which starts it again
                continue
            if not allowed and (during, task) not in self._said:  # it may end again and again
                self._said.add((during, task))
                self._violation(f"{during}: {task[0]}:{task[1]} ended with code {code}; its last words: {self._last_words(task)}")
            time.sleep(0.5)
            self.tasks.start(task)

    def _await_progress(self, after, moment, may_end=False):
        """Seconds until every worker has had steps answered since; None, and a violation, if some do not."""
        while True:
            self._note_ended(after, may_end)
            behind = self.tasks.behind(moment)
            if not behind:
                return time.time() - moment
            if time.time() - moment > self._options.patience:
                words = "; ".join(f"{job}:{i} said last: {self._last_words((job, i))}" for job, i in behind)
                self._violation(f"no step for {self._options.patience} s after {after}: {words}")
                return None
            time.sleep(0.1)

    def _last_words(self, task):
        try:
            with open(self.tasks.output(task), errors="replace", encoding="utf-8") as f:
                return " | ".join(line.strip() for line in f.readlines()[-3:])[-600:]
        except FileNotFoundError:
            return "nothing"

    def _violation(self, text):
        self.violations.append(text)
        print(f"VIOLATION (seed {self._options.seed}): {text}", flush=True)

    def _check_end(self, before):
        self.unanswered = 0
        for (job, index), log in self.tasks.logs.items():
            found, unanswered = invariants.check_worker(log.read(), self.tasks.ps_lost, monitored=self.mode != "plain")
            self.unanswered += unanswered
            for text in found[:5]:
                self._violation(f"{job}:{index}: {text}")
        if self.tasks.checkpoints:
            for text in invariants.check_checkpoints(self.tasks.checkpoints):
                self._violation(f"checkpoint: {text}")
        time.sleep(3)
        for name, (pid, usage) in before.items():
            if self.tasks.pid(name) == pid:
                for text in invariants.check_usage(name, usage, invariants.usage(pid)):
                    self._violation(text)

    def table(self):
        lines = [f"seed {self._options.seed}: {self.mode}, {self.num_ps} ps, {self.num_workers} workers, "
                 f"{sum(len(v) for v in self.recoveries.values())} faults, {len(self.violations)} violations"]
        for name, seconds in sorted(self.recoveries.items()):
            known = sorted(s for s in seconds if s is not None)
            middle, most = (known[len(known) // 2], known[-1]) if known else (float("nan"), float("nan"))
            lines.append(f"  {name:20s} {len(seconds):4d} times, went on after {middle:5.1f} s (median), {most:5.1f} s (most)")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), help="chooses everything (default: at random)")
    parser.add_argument("--faults", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--mode", choices=(*MODES, "any"), default="any", help="kind of training (default: chosen by the seed)")
    parser.add_argument("--ps", type=int, default=0, help="parameter servers (default: 1 to 3)")
    parser.add_argument("--workers", type=int, default=0, help="workers (default: 1 to 3)")
    parser.add_argument("--hosts", type=int, default=3, help="network namespaces that tasks are spread over (default: 3)")
    parser.add_argument("--links", default="", help="kinds of links that tasks may use, such as tcp (default: all)")
    parser.add_argument("--only", default="", help="names of faults, with commas between (default: all)")
    parser.add_argument("--patience", type=float, default=90, help="seconds after which a worker without a step hangs (default: 90)")
    parser.add_argument("--stop_at_first", action="store_true", help="end at the first violation")
    parser.add_argument("--folder", help="for logs (default: a new temporary one)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was made is taken down
    folder = options.folder or tempfile.mkdtemp(prefix="chaos")
    os.makedirs(folder, exist_ok=True)
    print(f"chaos: seed {options.seed}, logs in {folder}", flush=True)
    chaos = Chaos(options, folder)
    good = chaos.run()
    print(chaos.table())
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
