# SPDX-License-Identifier: Apache-2.0
"""The identity of the rounds in which the chief of a synchronous training applies means."""
import pytest

from millstream.client import step_identity
from millstream.training.sync_replicas_optimizer import _Rounds


def _run(rounds, fails=False):
    seen = None
    try:
        with rounds.current():
            seen = step_identity.current()
            if fails:
                raise OSError("an outage")
    except OSError:
        pass
    assert step_identity.current() == step_identity.NONE
    return seen


def _rounds(holder, global_step, name="sync"):
    rounds = _Rounds(name)
    rounds.begin(holder, global_step)
    return rounds


def test_each_round_has_its_own():
    rounds = _rounds(17, 7)
    first, second = _run(rounds), _run(rounds)
    assert first[0] == second[0] != 0
    assert first[1] != second[1]
    assert _run(_rounds(17, 7, "other_sync"))[0] != first[0]


@pytest.mark.parametrize("holder", [17, 0])
def test_a_round_that_failed_is_repeated(holder):
    rounds = _rounds(holder, 7)
    _run(rounds)
    failed = _run(rounds, fails=True)
    rounds.begin(holder, 8)
    assert _run(rounds) == failed


def test_a_chief_that_was_started_again_repeats_the_round_of_the_one_before():
    killed = _rounds(17, 7)
    _run(killed)
    assert _run(_rounds(17, 8)) == _run(killed, fails=True)


@pytest.mark.parametrize("holder", [17, 0])
@pytest.mark.parametrize("found", [9, 3])  # its answer was lost, or a checkpoint was restored
def test_a_round_that_was_done_or_undone_is_not(found, holder):
    rounds = _rounds(holder, 8)
    failed = _run(rounds, fails=True)
    rounds.begin(holder, found)
    assert _run(rounds) != failed


def test_a_round_at_another_process_is_not():
    rounds = _rounds(17, 8)
    failed = _run(rounds, fails=True)
    rounds.begin(18, 8)
    assert _run(rounds) != failed
