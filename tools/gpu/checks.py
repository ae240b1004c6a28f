#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU machine must do beyond single ops; part of the bundle that bundle.sh makes, called by its run.sh. Prints a line for each check.

Models train to the CPU's losses, parameter servers without GPU serve workers that share one, memory runs out with a readable error, a killed
process leaves nothing behind, and programs run without a GPU. checks.py DATA: the folder with MNIST.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
EXACT = {**os.environ, "NVIDIA_TF32_OVERRIDE": "0"}
ON_CPU = {key: value for key, value in EXACT.items() if key != "MILLSTREAM_DEVICE_PLUGINS"}


def bench(graph, steps, environment, *device):
    command = [str(HERE / "bin" / "graph_steps_bench"), str(HERE / "graphs" / graph), str(steps), *device]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, check=False)


def losses(graph, environment, *device):
    done = bench(graph, 40, environment, *device)
    if done.returncode != 0:
        raise AssertionError(done.stderr.strip()[-300:])
    result = json.loads(done.stdout)
    return result["first_loss"], result["last_loss"]


def like_cpu(graph):
    gpu, cpu = losses(graph, EXACT), losses(graph, ON_CPU, "/cpu:0")
    text = f"losses {gpu[0]:.5g} to {gpu[1]:.5g}, on the CPU {cpu[0]:.5g} to {cpu[1]:.5g}"
    assert abs(gpu[0] - cpu[0]) <= 1e-3 * abs(cpu[0]), text
    assert abs(gpu[1] - cpu[1]) <= 0.05 * abs(cpu[1]) + 1e-3, text
    return text


def out_of_memory():
    done = bench("check_out_of_memory", 2, EXACT)
    assert done.returncode == 1, f"exit code {done.returncode}"
    wanted = r"OOM when allocating tensor with shape\[16384,16384\] and type float for (\w+) on GPU 0 \(1073741824 bytes.*held by: \w+"
    assert re.search(wanted, done.stderr), done.stderr[-300:]
    return "the error names op, size and holders"


def killed_process():
    command = [str(HERE / "bin" / "graph_steps_bench"), str(HERE / "graphs" / "mlp"), "100000000"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=EXACT)
    wait_for(lambda: str(process.pid) in compute_processes() or memory_in_use() > 500, "the process to use the GPU")
    process.send_signal(signal.SIGKILL)
    process.wait()
    first, last = losses("mlp", EXACT)
    return f"the next one trains: {first:.5g} to {last:.5g}"


def query(what):
    return subprocess.run(["nvidia-smi", what, "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True).stdout


def compute_processes():
    return query("--query-compute-apps=pid").split()


def memory_in_use():
    return int(query("--query-gpu=memory.used").split()[0])


def wait_for(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.2)


def without_gpu():
    first, last = losses("mlp", {**EXACT, "CUDA_VISIBLE_DEVICES": ""})
    return f"trains on the CPU: {first:.5g} to {last:.5g}"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def cluster(mode, data, worker_environment):
    """The accuracy that one ps and two workers reach."""
    hosts = [f"127.0.0.1:{port}" for port in free_ports(3)]
    command = [str(HERE / "bin" / "millstream"), "train", "--model", "lenet", "--mode", mode, "--train_steps", "300", "--data_dir", data, "--logdir", "",
               "--json", f"--ps_hosts={hosts[0]}", f"--worker_hosts={hosts[1]},{hosts[2]}"]
    tasks = []
    for job, index, environment in (("ps", 0, ON_CPU), ("worker", 0, worker_environment), ("worker", 1, worker_environment)):
        task = [*command, f"--job_name={job}", f"--task_index={index}"]
        tasks.append(subprocess.Popen(task, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment))
    try:
        out, err = tasks[1].communicate(timeout=120)
    finally:
        for task in tasks:
            task.kill()
            task.wait()
    found = re.findall(r'"accuracy": ?([0-9.]+)', out)
    assert found, (out + err)[-300:]
    return float(found[-1])


def cluster_like_cpu(mode, data):
    gpu, cpu = cluster(mode, data, EXACT), cluster(mode, data, ON_CPU)
    text = f"accuracy {gpu:.4f}, with workers on CPUs {cpu:.4f}"
    assert abs(gpu - cpu) <= 0.02, text
    return text


def main(data):
    checks = {f"{graph} like the CPU": (lambda graph=graph: like_cpu(graph)) for graph in ("mlp", "lenet", "lstm", "check_resnet")}
    checks["towers on two virtual GPUs"] = lambda: like_cpu("check_towers")
    checks["out of memory"] = out_of_memory
    checks["killed process"] = killed_process
    checks["no GPU to see"] = without_gpu
    for mode in ("async", "sync"):
        checks[f"1 ps, 2 workers, {mode}"] = lambda mode=mode: cluster_like_cpu(mode, data)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=5) as pool:
        running = {name: pool.submit(check) for name, check in checks.items()}
        for name, check in running.items():
            try:
                print(f"{name:<28} {check.result()}", flush=True)
            except (AssertionError, subprocess.SubprocessError, OSError, ValueError) as error:
                failed += 1
                print(f"{name:<28} FAILED: {' '.join(str(error).split())}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
