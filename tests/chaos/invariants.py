# SPDX-License-Identifier: Apache-2.0
"""What must hold whatever happens, told from what the workers wrote, from checkpoints and from /proc."""
import os


def _fell(before, now):
    return any(b > n for b, n in zip(before["mine"], now["mine"])) or before["global_step"] > now["global_step"]


def check_worker(events, ps_lost, monitored=False):
    """Violations in the log of one worker; and how often a step that was not answered had been applied on some ps.

    A monitored session repeats its step in the session that it makes anew, and no update twice: between two answered steps of one process
    each counter grows by 1, whatever a session in between has seen, unless a restore has set them back.
    """
    violations, applied_unanswered = [], 0
    base = last = None  # what the next answered step adds to; the last event
    restarted = exact = True
    for event in events:
        if event["event"] == "started":
            restarted = True
        if event["event"] not in ("created", "step"):
            continue
        added = [n - b for b, n in zip(base["mine"], event["mine"])] if base is not None else None
        if event["event"] == "step":
            if base is not None and any(a != 1 and (exact or a != 0) for a in added):
                violations.append(f"an answered step added {added} to the counters on the ps tasks, not 1 each, after {base}")
            base, exact = event, True
        else:
            restored = last is not None and any(last["t"] - 1 < lost < event["t"] + 1 for lost in _since(ps_lost, last["t"]))
            if base is not None and not restored:
                if _fell(base, event):
                    violations.append(f"values fell without a restore: {base} -> {event}")
                if any(a > 1 for a in added):
                    violations.append(f"a step in flight was applied more than once: {base} -> {event}")
                applied_unanswered += any(a == 1 for a in added)
            if base is None or restored or restarted or not monitored:
                # A session that was made about when a ps was lost may have been tried before: its step may be there in part.
                base, exact = event, not (monitored and restored)
            restarted = False
        last = event
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
