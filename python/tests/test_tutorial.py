# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/tutorial.md, as a reader would put them together."""
import os
import re
import subprocess
import sys

import millstream
from ports import free_ports

PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(millstream.__spec__.origin)))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMEOUT = 180  # seconds; only a hang takes as long
LINE = re.compile(r"^(\w[\w ]*): step +(\d+), loss ([\d.]+), test accuracy ([\d.]+) %$", re.M)


def code_blocks():
    with open(os.path.join(ROOT, "docs", "tutorial.md"), encoding="utf-8") as page:
        return re.findall(r"```python\n(.*?)```", page.read(), re.S)


def start(script, *args):
    return subprocess.Popen([sys.executable, str(script), *args], cwd=script.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "MILLSTREAM_SOURCE_DIR": ROOT, "PYTHONPATH": PACKAGES})


def finish(process):
    output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, output[-3000:]
    return output


def check_progress(output, name):
    lines = [line for line in LINE.findall(output) if line[0] == name]
    assert lines, output
    steps = [int(step) for _, step, _, _ in lines]
    assert steps == sorted(steps) and all(step % 100 == 0 for step in steps), output
    assert float(lines[-1][3]) > 80, output


def test_first_stage_prints_progress(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(code_blocks()[0])
    output = finish(start(script))
    check_progress(output, "local")
    assert len(LINE.findall(output)) == 9, output


def test_second_stage_trains_on_a_cluster(tmp_path):
    local, cluster = code_blocks()[:2]
    model = local[:local.index("if __name__")]
    script = tmp_path / "train.py"
    script.write_text(model + cluster.replace("/tmp/train", str(tmp_path / "checkpoints")))
    ports = free_ports(3)
    hosts = [f"--ps_hosts=localhost:{ports[0]}", f"--worker_hosts=localhost:{ports[1]},localhost:{ports[2]}"]
    tasks = [start(script, *hosts, f"--job_name={job}", f"--task_index={index}") for job, index in [("ps", 0), ("worker", 0), ("worker", 1)]]
    outputs = [finish(task) for task in tasks]
    check_progress("".join(outputs), "worker 0" if "worker 0:" in "".join(outputs) else "worker 1")
    assert (tmp_path / "checkpoints" / "checkpoint").exists()
