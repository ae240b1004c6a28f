# SPDX-License-Identifier: Apache-2.0
"""Timeline: StepStats as a Chrome trace."""
import json


class Timeline:
    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False):
        del show_dataflow, show_memory
        events = []
        for pid, device in enumerate(self._step_stats.dev_stats):
            events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"{device.device} Compute"}})
            lanes = []  # end of the last op in each
            for node in sorted(device.node_stats, key=lambda n: n.all_start_micros):
                start, length = node.all_start_micros, max(node.all_end_rel_micros, 1)
                lane = next((i for i, end in enumerate(lanes) if end <= start), None)
                if lane is None:
                    lane = len(lanes)
                    lanes.append(0)
                lanes[lane] = start + length
                op = node.timeline_label.partition(" = ")[2].partition("(")[0] or node.node_name.rpartition(":")[2]
                events.append({"ph": "X", "cat": "Op", "name": op or node.node_name, "pid": pid, "tid": lane, "ts": start,
                               "dur": length, "args": {"name": node.node_name, "op": op}})
        return json.dumps({"traceEvents": events}, indent=1)
