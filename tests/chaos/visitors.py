# SPDX-License-Identifier: Apache-2.0
"""Clients of a running job that come and go: `visitors.py TARGET SESSIONS SECONDS_BETWEEN`.

Each makes five sessions with a graph of its own. Every second one closes them; the others are killed with their sessions open, half of
those in the middle of a partial run. Prints how many sessions there have been.
"""
import os
import signal
import sys
import time

import millstream as tf

PER_VISITOR = 5


def visit(target, number):
    with tf.device("/job:ps/task:0"):
        total = tf.get_variable("visits", [100], initializer=tf.zeros_initializer())
        x = y = tf.placeholder(tf.float32, [100])
        for _ in range(100):
            y = tf.identity(y)
        step = tf.assign_add(total, y)
    made = []
    for _ in range(PER_VISITOR):
        session = tf.Session(target)
        made.append(session)
        session.run(total.initializer)
        session.run(step, {x: [1.0] * 100})
        if number % 4 == 3:
            handle = session.partial_run_setup([y, step], [x])
            session.partial_run(handle, [y], {x: [1.0] * 100})
        if number % 2 == 0:
            session.close()
    if number % 2 == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def visit_in_a_process(target, number):
    child = os.fork()
    if child == 0:
        try:
            visit(target, number)
            os._exit(0)
        except BaseException:  # noqa: BLE001  it must not go on as the parent
            import traceback
            traceback.print_exc()
        os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != (-signal.SIGKILL if number % 2 else 0):
        sys.exit(f"visitor {number} ended with {status}")


def main():
    target, sessions, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    for number in range(sessions // PER_VISITOR):
        visit_in_a_process(target, number)
        print((number + 1) * PER_VISITOR, flush=True)
        time.sleep(pause)


if __name__ == "__main__":
    main()
