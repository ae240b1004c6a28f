# SPDX-License-Identifier: Apache-2.0
"""What must hold whatever happens, told from what the workers wrote, from checkpoints and from /proc."""
import os


def _fell(before, now):
    return any(b > n for b, n in zip(before["mine"], now["mine"])) or before["global_step"] > now["global_step"]


def check_worker(events, ps_lost):
    """Violations in the log of one worker; and how often a step that was not answered had been applied on some ps."""
    violations, applied_unanswered = [], 0
    before = None
    for event in events:
        if event["event"] not in ("created", "step"):
            continue
        if before is not None:
            restored = event["event"] == "created" and any(before["t"] - 1 < lost < event["t"] + 1 for lost in _since(ps_lost, before["t"]))
            added = [n - b for b, n in zip(before["mine"], event["mine"])]
            if event["event"] == "step" and any(a != 1 for a in added):
                violations.append(f"an answered step added {added} to the counters on the ps tasks, not 1 each, after {before}")
            if event["event"] == "created" and not restored:
                if _fell(before, event):
                    violations.append(f"values fell without a restore: {before} -> {event}")
                if any(a > 1 for a in added):
                    violations.append(f"a step in flight was applied more than once: {before} -> {event}")
                applied_unanswered += any(a == 1 for a in added)
        before = event
    return violations, applied_unanswered


def _since(moments, start):
    return [moment for moment in moments if moment > start - 1]


def check_checkpoints(folder):
    """Each checkpoint that the file `checkpoint` names can be read whole, but for those that a fault has damaged."""
    import millstream as tf
    state = tf.train.get_checkpoint_state(folder)
    if state is None:
        return ["there is no checkpoint"]
    readable, problems = 0, []
    for path in state.all_model_checkpoint_paths:
        try:
            reader = tf.train.load_checkpoint(path)
            for name in reader.get_variable_to_shape_map():
                reader.get_tensor(name)
            readable += 1
        except tf.errors.OpError as error:
            problems.append(f"{os.path.basename(path)}: {error}")
    return problems if readable == 0 else []


def leftovers(folder):
    """Files that saves have left: all but checkpoints, the graph and events."""
    known = ("model.ckpt-", "checkpoint", "graph.pbtxt", "events.out.tfevents", "filler", ".millstream")
    return [name for name in os.listdir(folder) if not name.startswith(known) or "tmp" in name.lower()]


def usage(pid):
    """Threads, descriptors and resident memory of a process; None if it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            status = dict(line.split(":", 1) for line in f)
        return {"threads": int(status["Threads"]), "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "rss_kb": int(status["VmRSS"].split()[0])}
    except (FileNotFoundError, ProcessLookupError, KeyError):
        return None


def check_usage(name, before, after):
    """Memory, threads and descriptors have come back to where they were."""
    if before is None or after is None:
        return []
    allowed = {"threads": before["threads"] + 8, "descriptors": before["descriptors"] + 8, "rss_kb": before["rss_kb"] * 1.2 + 20000}
    return [f"{name[0]}:{name[1]}: {key} grew from {before[key]} to {after[key]}" for key, limit in allowed.items() if after[key] > limit]
