# SPDX-License-Identifier: Apache-2.0
"""Answers of a status server that no cluster gives at will: many tasks, dead ones, losses that are not finite, hostile names."""
import math

NOW = 1_700_000_000.0


def task_name(job, index):
    return f"/job:{job}/replica:0/task:{index}"


def scalar(name, values, source="fetch", first_step=10, **more):
    """A curve with a value every ten steps and every second; None is what JSON has for NaN."""
    points = [[NOW - len(values) + i, None if first_step is None else first_step + 10 * i, value] for i, value in enumerate(values)]
    return {"name": name, "source": source, "count": len(values), "value": values[-1], "points": points, **more}


def task(job, index, health="up", **more):
    """A task that trains a little if it is a worker."""
    found = {"task": task_name(job, index), "job": job, "index": index, "address": f"10.0.{index}.1:2222", "health": health, "health_since": NOW - 60,
             "error": None, "restarts": 0, "round_trip_seconds": 0.001, "staleness": None}
    if health in ("up", "done"):
        busy = job != "ps"
        found |= {
            "version": "1.0", "pid": 100 + index, "incarnation": f"{job}{index}", "time": NOW, "started": NOW - 300, "devices": [found["task"] + "/device:CPU:0"],
            "steps": {"ended": 1000, "failed": 0, "running": 0, "per_second": 95.5 if busy else 0, "mean_seconds": 0.0104 if busy else None},
            "parts": {"ended": 2000, "failed": 0, "running": 1, "per_second": 190}, "sessions": {"master": int(busy), "worker": 2},
            "global_step": 1000, "owns_global_step": job == "ps" and index == 0, "global_steps_per_second": 95.5 if job == "ps" else 0,
            "sent_per_second": 2e6, "received_per_second": 2e6, "memory": {"resident_bytes": 1.5e8, "peak_resident_bytes": 2e8, "tensor_bytes": 4e7},
            "links": [], "queues": [], "accumulators": [], "errors_total": 0, "errors": [], "scalars": [],
            "history": [[NOW - 30 + i, 100 * i, 200 * i, 1e6 * i, 1e6 * i, 1.5e8, 100 * i] for i in range(30)]}
        if busy:
            found["staleness"] = 1.2
            found["scalars"] = [scalar("loss:0", [2.3 * math.exp(-i / 12) + 0.1 * math.sin(i * (index + 2)) ** 2 for i in range(60)]),
                                scalar("accuracy:0", [1 - 0.9 * math.exp(-i / 15) for i in range(60)])]
            found["links"] = [{"peer": task_name("ps", 0), "transport": "shm", "open": 1, "bytes_sent": 1e8, "bytes_received": 1e8, "frames_sent": 2000,
                               "frames_received": 2000, "sent_per_second": 2e6, "received_per_second": 2e6, "queued_frames": 0, "silent_seconds": 0.01}]
    return found | more


def status(tasks, **more):
    return {"action_token": "0" * 32, "task": tasks[0]["task"] if tasks else task_name("ps", 0), "time": NOW, "tasks": tasks, **more}


def cluster(ps, workers):
    return status([task("ps", i) for i in range(ps)] + [task("worker", i) for i in range(workers)])


def training_graph():
    """As graph.json has a small classifier with its gradients, initializers, saver and reports."""
    nodes, edges, numbers, ops = [], [], {}, []
    devices = [task_name("ps", 0) + "/device:CPU:0", task_name("worker", 0) + "/device:CPU:0"]

    def node(name, op, device, *inputs, after=()):
        numbers[name] = len(nodes)
        if op not in ops:
            ops.append(op)
        nodes.append([name, ops.index(op), device])
        edges.extend([numbers[i], numbers[name], 0] for i in inputs)
        edges.extend([numbers[i], numbers[name], 1] for i in after)
        return name

    node("images", "Placeholder", 1)
    node("labels", "Placeholder", 1)
    variables, below = [], "images"
    for layer in ("hidden", "logits"):
        for part in ("kernel", "bias"):
            name = f"{layer}/{part}"
            variables.append(name)
            node(name, "VariableV2", 0)
            shape = node(f"{name}/Initializer/shape", "Const", 0)
            value = node(f"{name}/Initializer/random_uniform", "RandomUniform", 0, shape)
            node(f"{name}/Assign", "Assign", 0, name, value)
            node(f"{name}/read", "Identity", 0, name)
        node(f"{layer}/MatMul", "MatMul", 1, below, f"{layer}/kernel/read")
        below = node(f"{layer}/BiasAdd", "BiasAdd", 1, f"{layer}/MatMul", f"{layer}/bias/read")
    loss = node("loss", "Mean", 1, node("xent", "SparseSoftmaxCrossEntropyWithLogits", 1, below, "labels"))
    node("gradients/Shape", "Shape", 1, loss)
    node("gradients/grad_ys_0", "Const", 1)
    grad = node("gradients/Fill", "Fill", 1, "gradients/Shape", "gradients/grad_ys_0")
    updates = []
    for name in reversed(variables):
        scope = f"gradients/{name.replace('/', '_')}_grad"
        node(scope + "/Shape", "Shape", 1, f"{name}/read")
        grad = node(scope + "/MatMul", "MatMul", 1, grad, f"{name}/read")
        held = node(scope + "/tuple/control_dependency", "Identity", 1, grad, after=[scope + "/Shape"])
        updates.append(node(f"GradientDescent/update_{name}/ApplyGradientDescent", "ApplyGradientDescent", 0, name, held))
    node("GradientDescent", "NoOp", 0, after=updates)
    node("init", "NoOp", 0, after=[f"{v}/Assign" for v in variables])
    node("save/Const", "Const", 0)
    node("save/SaveV2", "SaveV2", 0, "save/Const", *variables)
    for v in variables:
        node(f"report_uninitialized_variables/IsVariableInitialized_{v.replace('/', '_')}", "IsVariableInitialized", 0, v)
    node("loss_summary", "ScalarSummary", 1, loss)
    return {"session": "s1", "total_nodes": len(nodes), "devices": devices, "ops": ops, "nodes": nodes, "edges": edges}
