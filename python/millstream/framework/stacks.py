# SPDX-License-Identifier: Apache-2.0
"""Stacks of defaults (graph, session), one for each thread."""
import contextlib
import threading


class DefaultStack(threading.local):
    def __init__(self):
        super().__init__()
        self.stack = []
        self.enforce_nesting = True

    def get_default(self):
        return self.stack[-1] if self.stack else None

    def is_cleared(self):
        return not self.stack

    def reset(self):
        self.stack = []

    @contextlib.contextmanager
    def get_controller(self, default):
        self.stack.append(default)
        try:
            yield default
        finally:
            # An interactive session may have been put on the stack meanwhile and is closed in any order.
            if self.enforce_nesting and self.stack and self.stack[-1] is not default:
                raise AssertionError(f"Nesting violated for default stack of {type(default)} objects")
            if default in self.stack:
                self.stack.remove(default)


default_graph = DefaultStack()
default_session = DefaultStack()
