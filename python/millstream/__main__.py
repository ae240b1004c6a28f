# SPDX-License-Identifier: Apache-2.0
"""python -m millstream script.py args: runs a TensorFlow 1 program, whose `import tensorflow` gives millstream."""
import os
import runpy
import sys


_USAGE = """usage: python -m millstream script.py [args]
       python -m millstream -m module [args]
       python -m millstream -c program [args]

Runs a TensorFlow 1 program unchanged: `import tensorflow` gives millstream.
Exit codes: the program's own; 2 for wrong usage."""


def main():
    args = sys.argv[1:]
    if args and args[0] in ("-h", "--help"):
        print(_USAGE)
        return 0
    if not args:
        print(_USAGE, file=sys.stderr)
        return 2
    if args[0] in ("-m", "-c") and len(args) == 1:
        return _wrong_usage(f"argument expected for the {args[0]} option")
    if args[0].startswith("-") and args[0] not in ("-m", "-c"):
        return _wrong_usage(f"unknown option {args[0]}")
    from millstream.platform import as_tensorflow
    as_tensorflow.install()
    if args[0] == "-m":
        sys.argv = args[1:]
        sys.path.insert(0, os.getcwd())
        _noting_exit(runpy.run_module, args[1], run_name="__main__", alter_sys=True)
    elif args[0] == "-c":
        sys.argv = ["-c"] + args[2:]
        sys.path[0] = ""
        _noting_exit(exec, compile(args[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        script = args[0]
        if not os.path.exists(script):
            return _wrong_usage(f"can't open file '{script}': No such file or directory")
        sys.argv = args
        sys.path[0] = os.path.dirname(os.path.abspath(script))
        _noting_exit(_run_script, script)
    return 0


def _wrong_usage(message):
    print(f"python -m millstream: {message}", file=sys.stderr)
    return 2


def _noting_exit(function, *args, **kwargs):
    """Calls it; a worker that leaves by SystemExit with a status other than 0 has not ended well (training/exit_status.py)."""
    try:
        return function(*args, **kwargs)
    except SystemExit as e:
        from millstream.training import exit_status
        exit_status.note(e.code)
        raise


def _run_script(script):
    """As Python itself does it: the program's module is __main__, also for what it imports and for pickle."""
    import types
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    with open(script, "rb") as f:
        code = compile(f.read(), script, "exec")
    exec(code, module.__dict__)  # pylint: disable=exec-used


if __name__ == "__main__":
    sys.exit(main())
