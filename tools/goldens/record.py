# SPDX-License-Identifier: Apache-2.0
"""Runs graphs in TensorFlow and keeps what happened; tests/goldens/README.md describes the files.

Two kinds of cases:
  op()      one op, fed through placeholders: values, static shapes, gradients, or the error
  script()  any graph and a list of steps in one session
"""
import contextlib
import pathlib
import shutil
import tempfile

from checks import record_gradients, record_shapes, set_shape, shape_variant
from steps import TEMP_DIR, run_step
from store import STORE, unique
from tensorflow1 import CONFIG, tf
from values import apply, convert, cpu_types, differentiable, op_def_registry, rng, type_name

import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.framework import test_util

# What cases take from here.
__all__ = ['TEMP_DIR', 'apply', 'convert', 'cpu_types', 'op', 'op_def_registry', 'rng', 'script', 'tf', 'type_name']

HELPERS = {'Const', 'Placeholder', 'Identity', 'NoOp', '_Arg', '_Retval'}  # not what a script is about, unless it says so


def _case_name(op, label, dtype):
  name = '%s/%s' % (STORE.module, op)
  for part in (label, dtype and type_name(dtype)):
    name += '_' + part if part else ''
  return unique(name, STORE.names)


def _new_case(covers, tolerance, options):
  case = meta_graph_pb2.MetaGraphDef()
  case.meta_info_def.tags.extend(covers)
  if tolerance is not None:
    rtol, atol = tolerance if isinstance(tolerance, tuple) else (tolerance, tolerance)
    case.collection_def['tolerance'].float_list.value.extend([rtol, atol])
  if options:
    case.collection_def['options'].node_list.value.extend(options)
  return case


class _OpGraph:
  """The graph of an op() case: placeholders (or constants) x0, x1_0, ..., and the op as node `op`."""

  def __init__(self, op, inputs, attrs, const, unknown):
    self.feeds, self.placeholders, self.consts = {}, [], []
    kwargs = dict(attrs)
    for i, (arg, value) in enumerate(zip(op_def_registry.get(op).input_arg, inputs)):
      make = lambda v, name, i=i: self._input(v, name, i in const, unknown)
      if isinstance(value, list):
        kwargs[arg.name] = [make(v, 'x%d_%d' % (i, j)) for j, v in enumerate(value)]
      else:
        kwargs[arg.name] = make(value, 'x%d' % i)
    self.op = apply(op, 'op', **kwargs).op

  def _input(self, value, name, const, unknown):
    value = np.asarray(value)
    dtype = tf.string if value.dtype.kind in 'OSU' else tf.as_dtype(value.dtype)
    if const:
      self.consts.append(tf.constant(value, dtype, name=name))
      return self.consts[-1]
    tensor = tf.placeholder(dtype, None if unknown else value.shape, name=name)
    self.placeholders.append(tensor)
    self.feeds[tensor] = value
    return tensor


def _convert_inputs(op, inputs, attr, dtype):
  def one(arg, value):
    return convert(value, dtype) if arg.type_attr == attr else np.asarray(value)
  return [[one(arg, v) for v in value] if isinstance(value, list) else one(arg, value)
          for arg, value in zip(op_def_registry.get(op).input_arg, inputs)]


def op(op, *inputs, types=('float',), attr='T', label='', const=(), grad=True, fd=True, error=False, unknown=False,
       tolerance=None, shapes=True, options=(), producer=None, **attrs):
  """Records one op.

  inputs     arrays, or lists of arrays for N * T; those of the swept attribute are converted to each type
  types      'all' (every CPU kernel), or a list; None: inputs are taken as they are
  const      positions of inputs that are constants, not placeholders
  grad, fd   whether to record gradients (of floating inputs) and to check them by finite differences
  error      the op must fail; shapes of placeholders are then unknown, so that the kernel sees the inputs
  producer   the version of the graph, where newer ones may not have the op
  """
  if types == 'all':
    types = cpu_types(op, attr)
  first = True
  for dtype in (types if types is not None else [None]):
    values = inputs if dtype is None else _convert_inputs(op, inputs, attr, tf.as_dtype(dtype))
    typed = dict(attrs)
    if dtype is not None:
      op_def = op_def_registry.get(op)
      if attr in [a.name for a in op_def.attr] and attr not in [a.type_attr for a in op_def.input_arg]:
        typed[attr] = tf.as_dtype(dtype)
    try:
      _record_op(op, values, typed, label, dtype, const, grad, fd, error, unknown, tolerance, shapes and first, options,
                 producer)
    except Exception as e:  # noqa: BLE001  a family is looked at as a whole
      STORE.problems.append('%s %s: %s' % (_case_name(op, label, dtype), type(e).__name__, str(e).split('\n')[0][:200]))
    first = False


def _record_op(op, inputs, attrs, label, dtype, const, grad, fd, error, unknown, tolerance, shapes, options, producer):
  name = _case_name(op, label, dtype)
  case = _new_case([op], tolerance, list(options) + ([] if fd else ['no_finite_differences']))
  with tf.Graph().as_default() as graph:
    if producer is not None:
      test_util.set_producer_version(graph, producer)
    g = _OpGraph(op, inputs, attrs, const, unknown or error)
    outputs = [t for t in g.op.outputs if t.dtype not in (tf.resource, tf.variant)]
    wanted = grad and not error and dtype is not None and tf.as_dtype(dtype) in (tf.float32, tf.float64, tf.complex64)
    xs = [t for t in g.placeholders if differentiable(t)] if wanted else []
    with tf.Session(graph=graph, config=CONFIG) as session:
      case.graph_def.CopyFrom(graph.as_graph_def())
      values = run_step(session, case, 'steps', g.feeds, outputs, [] if outputs else [g.op], expect_error=error)
    ys = [(t, v) for t, v in zip(outputs, values or []) if differentiable(t)]
    if xs and ys:
      random = rng(name, 'dy')
      dys = []
      for i, (t, v) in enumerate(ys):
        dys.append(tf.placeholder(t.dtype, None if unknown else v.shape, name='dy%d' % i))
        g.feeds[dys[-1]] = convert(random.uniform(-1, 1, v.shape), t.dtype)
      case.graph_def.CopyFrom(graph.as_graph_def())
      record_gradients(case, graph, [t for t, _ in ys], xs, g.feeds, dys)
    if error:
      shape_variant(case, 0, [], {t.op.name: np.shape(g.feeds[t]) for t in g.placeholders})
    elif shapes and outputs and not unknown:
      record_shapes(case, [t.name for t in outputs], values, g.placeholders, g.consts)
  STORE.add(case, name)


class Script:
  """Steps of a script() case, in the order of the calls."""

  def __init__(self):
    self.steps = []
    self.files = {}
    self.gradient = None
    self.shapes = []

  def run(self, fetches=(), feeds=None, targets=(), error=False):
    as_list = lambda x: list(x) if isinstance(x, (list, tuple)) else [x]
    self.steps.append((feeds or {}, as_list(fetches), as_list(targets), error))

  def file(self, name, data):
    """A file in the temporary folder; returns its path."""
    self.files[name] = data
    return TEMP_DIR + '/' + name

  def gradients(self, ys, xs, feeds=None):
    """Also records d(sum(y * dy))/dx."""
    self.gradient = (list(ys), list(xs), feeds or {})

  def static_shapes(self, *outputs):
    self.shapes.extend(outputs)


@contextlib.contextmanager
def script(op, label='', covers=None, tolerance=None, fd=True, options=()):
  """with script('VariableV2', 'assign') as s: build a graph; s.run(...). `covers`: ops it is about (default: all it has)."""
  name = _case_name(op, label, None)
  case = _new_case([], tolerance, list(options) + ([] if fd else ['no_finite_differences']))
  with tf.Graph().as_default() as graph:
    s = Script()
    try:
      yield s
      _record_script(case, name, op, covers, graph, s)
    except Exception as e:  # noqa: BLE001  likewise
      STORE.problems.append('%s %s: %s' % (name, type(e).__name__, str(e).split('\n')[0][:200]))
      return
  STORE.add(case, name)


def _record_script(case, name, op, covers, graph, s):
  dys = []
  if s.gradient:
    random = rng(name, 'dy')
    for i, y in enumerate(s.gradient[0]):
      dys.append(tf.placeholder(y.dtype, y.shape, name='dy%d' % i))
      s.gradient[2][dys[-1]] = convert(random.uniform(-1, 1, y.shape.as_list()), y.dtype)
  case.graph_def.CopyFrom(graph.as_graph_def())
  used = {n.op for n in case.graph_def.node}
  used |= {n.op for f in case.graph_def.library.function for n in f.node_def}
  covers = set(covers) if covers else (used - HELPERS) | {op}
  assert s.gradient or covers <= used, (name, covers - used)
  case.meta_info_def.tags.extend(sorted(covers))
  folder = tempfile.mkdtemp()
  try:
    _run_script(case, graph, s, folder)
  finally:
    shutil.rmtree(folder)
  if s.gradient:
    record_gradients(case, graph, s.gradient[0], s.gradient[1], s.gradient[2], dys)
  for t in s.shapes:
    info = case.signature_def['shapes/0'].outputs[t.name]
    info.name, info.dtype = t.name, t.dtype.base_dtype.as_datatype_enum
    set_shape(info, t.shape)


def _run_script(case, graph, s, folder):
  for file, data in s.files.items():
    (pathlib.Path(folder) / file).write_bytes(data)
    case.collection_def['files'].bytes_list.value.extend([file.encode(), data])
  with tf.Session(graph=graph, config=CONFIG) as session:
    for feeds, fetches, targets, error in s.steps:
      real = {}
      for tensor, value in feeds.items():
        value = np.asarray(value)
        if value.dtype.kind in 'OSU':
          flat = [v if isinstance(v, bytes) else v.encode() for v in value.astype(object).ravel()]
          flat = [v.replace(TEMP_DIR.encode(), folder.encode()) for v in flat]
          value = np.empty(value.shape, dtype=object)
          value.ravel()[:] = flat
          if value.shape == ():
            value = np.asarray(flat[0], dtype=object)
        real[tensor] = value
      run_step(session, case, 'steps', real, fetches, targets, expect_error=error, folder=folder)
