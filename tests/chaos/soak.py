# SPDX-License-Identifier: Apache-2.0
"""Trains for a long time while clients come and go, and checks that no task grows.

  python tests/chaos/soak.py --minutes 120 --sessions 1000

After a warm-up of a quarter of the time the resident memory of each task may grow by 1 % until the end, and threads and descriptors by
two each. Prints a table, and returns 1 if a task has grown or has ended; logs stay in --folder.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import invariants
from hosts import LocalHosts
from tasks import Tasks

HERE = os.path.dirname(os.path.abspath(__file__))
EVERY = 2.0  # seconds between samples
KEYS = ("rss_kb", "threads", "descriptors")


def median_of(samples, begin, end):
    """The medians of what was seen between two shares of the time."""
    chosen = samples[int(len(samples) * begin):max(int(len(samples) * end), int(len(samples) * begin) + 1)]
    return {key: statistics.median(s[key] for s in chosen) for key in KEYS}


def growth(samples):
    """What a task used after the warm-up and at the end, and which of these have grown beyond what is allowed."""
    warm, end = median_of(samples, 0.25, 0.35), median_of(samples, 0.9, 1.0)
    allowed = {"rss_kb": warm["rss_kb"] * 1.01, "threads": warm["threads"] + 2, "descriptors": warm["descriptors"] + 2}
    return warm, end, [key for key in KEYS if end[key] > allowed[key]]


class Soak:
    def __init__(self, options, folder):
        self._options = options
        self.tasks = Tasks(LocalHosts(1), folder, options.mode, options.ps, options.workers, options.links, pause=0.05)
        self.tasks.environment["MILLSTREAM_SESSION_LEASE_MS"] = "2000"  # sessions of clients that were killed end after that
        self._folder, self.samples = folder, {name: [] for name in self.tasks.names}

    def run(self):
        """Whether nothing ended and nothing grew."""
        os.makedirs(self.tasks.checkpoints, exist_ok=True)
        try:
            self.tasks.start_all()
            self._await_steps(120)
            visitors = self._start_visitors()
            self._watch(time.time() + self._options.minutes * 60)
            good = self._await_steps(60)
            if visitors.poll() not in (None, 0):
                print(f"the visitors ended with {visitors.returncode}, see {self._folder}/visitors.out")
                good = False
            visitors.kill()
            visitors.wait()
            return self.report() and good
        finally:
            self.tasks.stop()

    def _start_visitors(self):
        """They are through when three quarters of the time are over, so that the end shows what they have left."""
        pause = max(0.0, self._options.minutes * 60 * 0.75 / (self._options.sessions / 5) - 0.5)
        command = [sys.executable, os.path.join(HERE, "visitors.py"), f"grpc://{self.tasks.address['worker', 0]}", str(self._options.sessions), str(pause)]
        with open(os.path.join(self._folder, "visitors.out"), "ab") as out:
            return subprocess.Popen(command, env=self.tasks.environment, stdout=out, stderr=out)

    def _await_steps(self, patience):
        since = time.time()
        while self.tasks.behind(since) and not self.tasks.ended():
            if time.time() > since + patience:
                print(f"no steps for {patience} s at {self.tasks.behind(since)}")
                return False
            time.sleep(0.2)
        return not self.tasks.ended()

    def _watch(self, deadline):
        while time.time() < deadline and not self.tasks.ended():
            for name, samples in self.samples.items():
                usage = invariants.usage(self.tasks.pid(name))
                if usage is not None:
                    samples.append(usage)
            time.sleep(EVERY)

    def report(self):
        good = not self.tasks.ended()
        for name, code in self.tasks.ended().items():
            print(f"{name[0]}:{name[1]} ended with code {code}, see {self.tasks.output(name)}")
        for (job, index), samples in self.samples.items():
            warm, end, grown = growth(samples)
            good = good and not grown
            print(f"{job}:{index}: " + ", ".join(f"{key} {warm[key]:.0f} -> {end[key]:.0f}" for key in KEYS)
                  + f" ({100 * (end['rss_kb'] / warm['rss_kb'] - 1):+.2f} % memory)" + (f" GREW: {', '.join(grown)}" if grown else ""))
        return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20, help="how long (default: 20)")
    parser.add_argument("--sessions", type=int, default=1000, help="of clients that come and go (default: 1000)")
    parser.add_argument("--mode", choices=("async", "sync"), default="async", help="kind of training (default: async)")
    parser.add_argument("--ps", type=int, default=2, help="parameter servers (default: 2)")
    parser.add_argument("--workers", type=int, default=2, help="workers (default: 2)")
    parser.add_argument("--links", default="", help="kinds of links that tasks may use, such as tcp (default: all)")
    parser.add_argument("--folder", help="for logs (default: a new temporary one)")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="soak")
    os.makedirs(folder, exist_ok=True)
    print(f"soak: {options.minutes:g} minutes, {options.sessions} sessions, logs in {folder}", flush=True)
    sys.exit(0 if Soak(options, folder).run() else 1)


if __name__ == "__main__":
    main()
