# SPDX-License-Identifier: Apache-2.0
"""python -m millstream script.py args: runs a TensorFlow 1 program, whose `import tensorflow` gives millstream."""
import importlib.util
import os
import runpy
import sys


_USAGE = """usage: python -m millstream script.py [args]
       python -m millstream -m module [args]
       python -m millstream -c program [args]
       python -m millstream - [args]        (the program comes on standard input)

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
    if args[0].startswith("-") and args[0] not in ("-", "-m", "-c"):
        return _wrong_usage(f"unknown option {args[0]}")
    from millstream.platform import as_tensorflow
    as_tensorflow.install()
    sys.excepthook = _show_exception
    if args[0] == "-m":
        sys.path.insert(0, os.getcwd())
        if not _is_module(args[1]):
            return _cannot_run(f"No module named {args[1]}")
        sys.argv = args[1:]
        _noting_exit(runpy.run_module, args[1], run_name="__main__", alter_sys=True)
    elif args[0] in ("-c", "-"):
        source, name, sys.argv = (args[1], "<string>", ["-c"] + args[2:]) if args[0] == "-c" else (sys.stdin.read(), "<stdin>", args)
        sys.path[0] = ""
        _noting_exit(exec, compile(source, name, "exec"), {"__name__": "__main__"})
    else:
        script = args[0]
        if not os.path.exists(script):
            return _wrong_usage(f"can't open file '{script}': No such file or directory")
        if os.path.isdir(script):
            if not os.path.exists(os.path.join(script, "__main__.py")):
                return _cannot_run(f"can't find '__main__' module in '{script}'")
            sys.argv = args
            _noting_exit(runpy.run_path, script, run_name="__main__")
            return 0
        sys.argv = args
        sys.path[0] = os.path.dirname(os.path.abspath(script))
        _noting_exit(_run_script, script)
    return 0


def _wrong_usage(message):
    print(f"python -m millstream: {message}", file=sys.stderr)
    return 2


def _cannot_run(message):
    """With the status of Python itself."""
    print(f"python -m millstream: {message}", file=sys.stderr)
    return 1


def _is_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return False  # a package that the name begins with
        raise


def _show_exception(kind, error, trace):
    """As Python shows it, from the program's first frame on: those that started the program are ours."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>", "<frozen importlib.util>"):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


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
