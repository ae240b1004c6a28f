# SPDX-License-Identifier: Apache-2.0
"""The names of the package `six` under Python 3, for programs that got it along with TensorFlow. Used where it is not installed."""
import builtins
import functools
import importlib
import io
import operator
import sys
import types

PY2, PY3, PY34 = False, True, True
string_types, integer_types, class_types, text_type, binary_type, MAXSIZE = (str,), (int,), (type,), str, bytes, sys.maxsize
StringIO, BytesIO = io.StringIO, io.BytesIO
unichr, int2byte, iterbytes, byte2int = chr, lambda i: bytes([i]), iter, operator.itemgetter(0)
next, callable, wraps = builtins.next, builtins.callable, functools.wraps  # pylint: disable=redefined-builtin
get_function_code, get_function_defaults = operator.attrgetter("__code__"), operator.attrgetter("__defaults__")


def iteritems(d, **kwargs):
    return iter(d.items(**kwargs))


def itervalues(d, **kwargs):
    return iter(d.values(**kwargs))


def iterkeys(d, **kwargs):
    return iter(d.keys(**kwargs))


viewitems, viewvalues, viewkeys = operator.methodcaller("items"), operator.methodcaller("values"), operator.methodcaller("keys")


def b(s):
    return s.encode("latin-1")


def u(s):
    return s


def ensure_str(s, encoding="utf-8", errors="strict"):
    if not isinstance(s, (str, bytes)):
        raise TypeError(f"not expecting type '{type(s)}'")
    return s.decode(encoding, errors) if isinstance(s, bytes) else s


ensure_text = ensure_str


def ensure_binary(s, encoding="utf-8", errors="strict"):
    if not isinstance(s, (str, bytes)):
        raise TypeError(f"not expecting type '{type(s)}'")
    return s.encode(encoding, errors) if isinstance(s, str) else s


def raise_from(value, from_value):
    raise value from from_value


def reraise(tp, value, tb=None):
    raise (tp() if value is None else value).with_traceback(tb)


def print_(*args, **kwargs):
    print(*args, **kwargs)


def with_metaclass(meta, *bases):
    return meta("temporary_class", bases or (object,), {})


def add_metaclass(metaclass):
    def wrapper(cls):
        body = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
        return metaclass(cls.__name__, cls.__bases__, body)
    return wrapper


def python_2_unicode_compatible(cls):
    return cls


_MODULES = {"cPickle": "pickle", "configparser": "configparser", "queue": "queue", "urllib": "urllib", "builtins": "builtins",
            "copyreg": "copyreg", "html_parser": "html.parser", "http_client": "http.client", "socketserver": "socketserver",
            "tkinter": "tkinter", "_thread": "_thread", "collections_abc": "collections.abc"}
_NAMES = {"range": range, "xrange": range, "zip": zip, "map": map, "filter": filter, "input": input, "reduce": functools.reduce,
          "StringIO": io.StringIO, "cStringIO": io.StringIO, "intern": sys.intern, "zip_longest": __import__("itertools").zip_longest,
          "getcwd": __import__("os").getcwd, "reload_module": importlib.reload}


class _Moves(types.ModuleType):
    """six.moves: what has another place in Python 3."""

    __path__ = []

    def __getattr__(self, name):
        if name in _NAMES:
            return _NAMES[name]
        if name in _MODULES:
            return part(f"six.moves.{name}")
        raise AttributeError(f"module 'six.moves' has no attribute '{name}'")


moves = _Moves("six.moves")


def part(name):
    """The module that stands for six.moves or something below it; None if there is none."""
    if name == "six.moves":
        return moves
    first, _, rest = name[len("six.moves."):].partition(".")
    if first not in _MODULES:
        return None
    if first == "urllib" and not rest:
        for below in ("request", "parse", "error", "response", "robotparser"):
            importlib.import_module("urllib." + below)
    return importlib.import_module(_MODULES[first] + ("." + rest if rest else ""))
