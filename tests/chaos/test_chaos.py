# SPDX-License-Identifier: Apache-2.0
"""The chaos harness: that its invariants notice what they are for, and a short run in every mode."""
import os
import subprocess
import sys

import faults
import invariants
import pytest
import soak

HERE = os.path.dirname(os.path.abspath(__file__))


def _event(kind, t, step, mine):
    return {"event": kind, "t": t, "global_step": step, "mine": mine, "weights": []}


GOOD = [_event("created", 1, 0, [0, 0]), _event("step", 2, 1, [1, 1]), _event("step", 3, 2, [2, 2])]


def test_a_good_log_is_good():
    assert invariants.check_worker(GOOD, []) == ([], 0)


def test_a_lost_update_is_noticed():
    found, _ = invariants.check_worker([*GOOD, _event("step", 4, 3, [2, 3])], [])
    assert "an answered step added" in found[0]


def test_an_update_that_was_applied_twice_is_noticed():
    found, _ = invariants.check_worker([*GOOD, _event("step", 4, 3, [4, 3])], [])
    assert "an answered step added" in found[0]
    found, _ = invariants.check_worker([*GOOD, _event("created", 4, 4, [4, 3])], [])
    assert "more than once" in found[0]


def test_values_may_fall_only_after_a_ps_was_lost():
    events = [*GOOD, _event("created", 9, 1, [1, 1])]
    found, _ = invariants.check_worker(events, [])
    assert "fell without a restore" in found[0]
    assert invariants.check_worker(events, [6]) == ([], 0)
    assert invariants.check_worker(events, [1])[0]  # long before


def test_a_step_in_flight_may_have_been_applied_once():
    assert invariants.check_worker([*GOOD, _event("created", 4, 3, [3, 2]), _event("step", 5, 4, [4, 3])], []) == ([], 1)


def test_a_monitored_session_applies_a_repeated_step_once():
    events = [_event("started", 0, 0, []), *GOOD, _event("created", 4, 3, [3, 2])]
    assert invariants.check_worker([*events, _event("step", 5, 3, [3, 3])], [], monitored=True) == ([], 1)
    assert invariants.check_worker([*events, _event("created", 5, 3, [3, 3]), _event("step", 6, 3, [3, 3])], [], monitored=True) == ([], 2)
    found, _ = invariants.check_worker([*events, _event("step", 5, 4, [4, 3])], [], monitored=True)
    assert "an answered step added [2, 1]" in found[0]
    # Another process does not know of the step that its forerunner had in flight.
    again = [*events[:-1], _event("started", 4, 0, []), _event("created", 5, 3, [3, 2])]
    assert invariants.check_worker([*again, _event("step", 6, 4, [4, 3])], [], monitored=True) == ([], 1)
    # A restore sets everything back; the step is applied again.
    assert invariants.check_worker([*events, _event("created", 9, 1, [1, 1]), _event("step", 10, 2, [2, 2])], [7], monitored=True) == ([], 1)


def test_growth_is_noticed():
    before = {"threads": 10, "descriptors": 20, "rss_kb": 50000}
    assert not invariants.check_usage(("ps", 0), before, before)
    assert len(invariants.check_usage(("ps", 0), before, {"threads": 30, "descriptors": 90, "rss_kb": 500000})) == 3


def test_every_fault_says_what_it_does():
    assert len(faults.FAULTS) >= 12


@pytest.mark.parametrize("mode, ps", [("async", 2), ("sync", 3), ("plain", 1)])
def test_short_run(mode, ps, tmp_path):
    # Long outages are for `make chaos`: those below are over within seconds.
    only = "kill_worker,kill_ps,stop_task,reset_connections,lose_packets,squat_port,client_vanishes,damage_checkpoint"
    command = [sys.executable, os.path.join(HERE, "chaos.py"), "--seed", "11", "--faults", "4", "--mode", mode, "--ps", str(ps), "--workers", "2",
               "--only", only, "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


def _samples(kilobytes, threads=20):
    return [{"rss_kb": kb, "threads": threads, "descriptors": 30} for kb in kilobytes]


def test_a_soak_notices_what_grows():
    steady = [50_000 + i * 100 for i in range(25)] + [52_500 + i % 3 for i in range(75)]  # it grows while it warms up only
    assert soak.growth(_samples(steady))[2] == []
    assert soak.growth(_samples([50_000 + i * 20 for i in range(100)]))[2] == ["rss_kb"]
    assert soak.growth(_samples(steady[:90], 20) + _samples(steady[90:], 23))[2] == ["threads"]


def test_a_short_soak(tmp_path):
    """That the program works; a minute is too short to tell 1 % of memory."""
    command = [sys.executable, os.path.join(HERE, "soak.py"), "--minutes", "0.2", "--sessions", "20", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "ended" not in done.stdout and "no steps" not in done.stdout, done.stdout + done.stderr
    assert "worker:1: rss_kb" in done.stdout, done.stdout + done.stderr
