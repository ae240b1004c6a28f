# SPDX-License-Identifier: Apache-2.0
"""The layers of a MonitoredSession: recovery, coordination, hooks."""
import sys
import time

from millstream.client import default_target, step_identity
from millstream.framework import errors
from millstream.training import session_run_hook

_PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)


def _log():
    from millstream.framework import log
    return log


class StepContext:
    """What a function of run_step_fn() is given."""

    def __init__(self, session, run_with_hooks_fn):
        self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

    @property
    def session(self):
        return self._session

    def run_with_hooks(self, *args, **kwargs):
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self):
        raise StopIteration("step_fn has requested the iterations to stop.")


class _WrappedSession:
    def __init__(self, sess):
        self._sess = sess
        self._is_wrapped = isinstance(sess, _WrappedSession)

    @property
    def graph(self):
        return self._sess.graph

    @property
    def sess_str(self):
        return self._sess.sess_str

    def should_stop(self):
        if self._check_stop():
            return True
        return self._sess.should_stop() if self._sess and self._is_wrapped else self._sess is None

    def _check_stop(self):
        return False

    def close(self):
        if self._sess:
            try:
                self._sess.close()
            except _PREEMPTION_ERRORS as e:
                _log().error("An error occurred when attempting to close the session: %s", e)
            finally:
                self._sess = None

    def run(self, *args, **kwargs):
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        run_with_hooks = run_with_hooks or self.run
        return step_fn(StepContext(raw_session, run_with_hooks))


class _FinishedSession:
    """The job was done before this worker came: there is nothing to do."""

    def __init__(self, error):
        self._error = error

    def should_stop(self):
        return True

    def run(self, *_, **__):
        raise self._error

    run_step_fn = run

    def close(self):
        pass


class _RecoverableSession(_WrappedSession):
    """Makes the session anew when a task was lost."""

    def __init__(self, sess_creator):
        self._sess_creator, self._client = sess_creator, step_identity.Client()
        super().__init__(self._create_session())

    def _create_session(self):
        wait, told = 0.05, None
        while True:
            try:
                return self._sess_creator.create_session()
            except _PREEMPTION_ERRORS as e:
                if str(e) != told:
                    _log().info("An error was raised while a session was being created. This may be due to a preemption of a "
                                "connected worker or parameter server. A new session will be created. Error: %s", e)
                    told = str(e)
                time.sleep(wait)
                wait = min(wait * 1.6, 1.0)

    def _check_stop(self):
        try:
            return self._sess._check_stop() if self._sess else False
        except _PREEMPTION_ERRORS as e:
            self._lost(e)
            self._sess = self._create_session()
            return False
        except Exception as e:  # noqa: BLE001  should_stop() has no other way to say it
            _log().info("An error was raised while considering whether to stop: %s", e)
            return True

    def _lost(self, e):
        if default_target.is_set():  # the session's variables were its own and are gone: a new one would wait for ranks that do not repeat the step
            raise e
        _log().info("An error was raised. This may be due to a preemption in a connected worker or parameter server. The current "
                    "session will be closed and a new session will be created. Error: %s", e)
        self.close()

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        identity = self._client.next_step()  # the same however often it is repeated
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                with step_identity.asked(identity):
                    return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)
            except _PREEMPTION_ERRORS as e:
                self._lost(e)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                run_with_hooks = self._sess.run
                return self._sess.run_step_fn(step_fn, self._sess._raw_session(), run_with_hooks)
            except _PREEMPTION_ERRORS as e:
                self._lost(e)


class _CoordinatedSession(_WrappedSession):
    """Ends with its coordinator's threads."""

    def __init__(self, sess, coord, stop_grace_period_secs):
        super().__init__(sess)
        self._coord, self._stop_grace_period_secs = coord, stop_grace_period_secs

    def _check_stop(self):
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def _raw_session(self):
        return self._sess._sess

    def close(self):
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception:  # noqa: BLE001  what matters was raised before
                pass

    def run(self, *args, **kwargs):
        try:
            return self._sess.run(*args, **kwargs)
        except _PREEMPTION_ERRORS:
            raise
        except Exception:  # noqa: BLE001  raised again below
            original = sys.exc_info()
            try:
                self._coord.raise_requested_exception()
            except _PREEMPTION_ERRORS:
                raise
            except Exception:  # noqa: BLE001  the first error is the one to tell
                pass
            raise original[1].with_traceback(original[2])  # noqa: B904  it is the same error


class _HookedSession(_WrappedSession):
    def __init__(self, sess, hooks):
        super().__init__(sess)
        self._hooks, self._should_stop = hooks, False

    def _check_stop(self):
        return self._should_stop

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        original = session_run_hook.SessionRunArgs(fetches, feed_dict)
        context = session_run_hook.SessionRunContext(original_args=original, session=self._sess)
        actual, feeds = {"caller": fetches}, dict(feed_dict) if feed_dict else {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                actual[hook] = request.fetches
            if request.feed_dict:
                for key in request.feed_dict:
                    if key in feeds:
                        raise RuntimeError(f"Same tensor is fed by a hook ({hook}) and by another one or the user.")
                feeds.update(request.feed_dict)
            if request.options is not None:
                options = _merged(options, request.options)
        from millstream.proto import config_pb2
        metadata = run_metadata if run_metadata is not None else config_pb2.RunMetadata()
        with step_identity.running():  # not what hooks run beside it
            outputs = self._sess.run(actual, feed_dict=feeds or None, options=options,
                                     run_metadata=None if run_metadata is None and options is None else metadata)
        if options is None:
            options = config_pb2.RunOptions()
        for hook in self._hooks:
            hook.after_run(context, session_run_hook.SessionRunValues(results=outputs.get(hook), options=options,
                                                                      run_metadata=metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return outputs["caller"]


def _merged(options, extra):
    if options is None:
        return extra
    merged = type(options)()
    merged.CopyFrom(options)
    merged.trace_level = max(options.trace_level, extra.trace_level)
    merged.timeout_in_ms = max(options.timeout_in_ms, extra.timeout_in_ms)
    merged.output_partition_graphs = options.output_partition_graphs or extra.output_partition_graphs
    return merged
