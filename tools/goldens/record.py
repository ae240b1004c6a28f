# SPDX-License-Identifier: Apache-2.0
"""Runs graphs in TensorFlow and keeps what happened; tests/goldens/README.md describes the files.

Two kinds of cases:
  op()      one op, fed through placeholders: values, static shapes, gradients, or the error
  script()  any graph and a list of steps in one session
"""
import contextlib
import gzip
import os
import pathlib
import re
import shutil
import tempfile
import zlib

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'
os.environ['CUDA_VISIBLE_DEVICES'] = ''

import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2, named_tensor_pb2
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.python.framework import kernels, op_def_library, op_def_registry

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
tf.logging.set_verbosity(tf.logging.ERROR)

TEMP_DIR = '{TMPDIR}'  # stands for the run's own folder in strings fed and fetched
HELPERS = {'Const', 'Placeholder', 'Identity', 'NoOp', '_Arg', '_Retval'}  # not what a script is about, unless it says so


def _run_step_messages():
  """RunStepRequest and RunStepResponse, which the TensorFlow package leaves out."""
  file = descriptor_pb2.FileDescriptorProto(
      name='goldens_run_step.proto', package='goldens', syntax='proto3',
      dependency=[named_tensor_pb2.DESCRIPTOR.name])
  field = descriptor_pb2.FieldDescriptorProto
  named = '.tensorflow.NamedTensorProto'
  for message, fields in (
      ('RunStepRequest', [('feed', 2, field.TYPE_MESSAGE, True), ('fetch', 3, field.TYPE_STRING, True),
                          ('target', 4, field.TYPE_STRING, True)]),
      ('RunStepResponse', [('tensor', 1, field.TYPE_MESSAGE, True), ('status_code', 3, field.TYPE_INT32, False),
                           ('status_error_message', 4, field.TYPE_STRING, False)])):
    m = file.message_type.add(name=message)
    for name, number, kind, repeated in fields:
      m.field.add(name=name, number=number, type=kind, type_name=named if kind == field.TYPE_MESSAGE else None,
                  label=field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL)
  pool = descriptor_pool.Default()
  pool.Add(file)
  return [message_factory.GetMessageClass(pool.FindMessageTypeByName('goldens.' + m.name)) for m in file.message_type]


RunStepRequest, RunStepResponse = _run_step_messages()

_CONFIG = tf.ConfigProto(
    intra_op_parallelism_threads=2, inter_op_parallelism_threads=2,
    graph_options=tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0),
        rewrite_options=rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True)))


class Store:
  """All cases of a run, by family and file."""

  def __init__(self):
    self.files = {}
    self.names = set()
    self.problems = []  # what could not be recorded as asked
    self.family = None

  def add(self, case):
    name = case.meta_info_def.meta_graph_version
    assert name not in self.names, name
    self.names.add(name)
    family, stem = re.match(r'(\w+)/(_?[A-Za-z0-9]+)', name).groups()
    self.files.setdefault((family, stem), []).append(case)

  def write(self, folder, families):
    for family in families:
      shutil.rmtree(folder / family, ignore_errors=True)
    for (family, stem), cases in sorted(self.files.items()):
      out = bytearray()
      for case in cases:
        data = case.SerializeToString(deterministic=True)
        out += _varint(len(data)) + data
      path = folder / family / (stem + '.gz')
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(gzip.compress(bytes(out), mtime=0))


STORE = Store()


def _varint(n):
  out = bytearray()
  while n >= 0x80:
    out.append(n & 0x7f | 0x80)
    n >>= 7
  out.append(n)
  return bytes(out)


def rng(*key):
  return np.random.RandomState(zlib.crc32(repr(key).encode()))


def type_name(dtype):
  return types_pb2.DataType.Name(tf.as_dtype(dtype).as_datatype_enum)[3:].lower()


def cpu_types(op, attr='T'):
  """The types for which TensorFlow has a CPU kernel and numpy has values."""
  found = set()
  for kernel in kernels.get_registered_kernels_for_op(op).kernel:
    if kernel.device_type not in ('CPU', 'DEFAULT') or kernel.label:
      continue
    for constraint in kernel.constraint:
      if constraint.name == attr:
        found.update(constraint.allowed_values.list.type)
  allowed = next((a for a in op_def_registry.get(op).attr if a.name == attr), None)
  if not found:
    found = set(ALL_TYPES)
  if allowed is not None and allowed.HasField('allowed_values'):
    found &= set(allowed.allowed_values.list.type)
  return [tf.as_dtype(t) for t in ALL_TYPES if t in found]


# Order of sweeps; the first type of a sweep also carries the checks of static shapes.
ALL_TYPES = [types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE, types_pb2.DT_HALF, types_pb2.DT_BFLOAT16, types_pb2.DT_INT8,
             types_pb2.DT_INT16, types_pb2.DT_INT32, types_pb2.DT_INT64, types_pb2.DT_UINT8, types_pb2.DT_UINT16,
             types_pb2.DT_UINT32, types_pb2.DT_UINT64, types_pb2.DT_COMPLEX64, types_pb2.DT_COMPLEX128,
             types_pb2.DT_BOOL, types_pb2.DT_STRING]


def convert(value, dtype):
  """`value` as an array of `dtype`, in a way that keeps it interesting for that type."""
  value = np.asarray(value)
  dtype = tf.as_dtype(dtype)
  if value.dtype == object or value.dtype.kind in 'SU':
    return value.astype(object)
  if dtype == tf.string:
    return np.array(['s%g' % v for v in value.ravel()], dtype=object).reshape(value.shape)
  if dtype == tf.bool:
    return value > 0
  if dtype.is_complex and value.dtype.kind != 'c':
    value = value + 0.5j * np.roll(value, 1)
  if value.dtype.kind == 'f' and dtype.is_integer:
    value = np.round(value)
  if dtype.is_unsigned:
    value = np.abs(value)
  return value.astype(dtype.as_numpy_dtype)


def tensor_proto(value, dtype):
  return tf.make_tensor_proto(value, dtype=dtype, shape=np.shape(value))


def _portable(value, folder):
  """Replaces the temporary folder in strings by its placeholder."""
  if folder is None or np.asarray(value).dtype.kind not in 'OSU':
    return value
  flat = [v.encode() if isinstance(v, str) else v for v in np.asarray(value, dtype=object).ravel()]
  flat = [v.replace(folder.encode(), TEMP_DIR.encode()) for v in flat]
  out = np.empty(len(flat), dtype=object)
  out[:] = flat
  return out.reshape(np.shape(value))


def _first_words(message):
  """The kernel's own message, without the stack of Python around it."""
  lines = [line for line in message.split('\n') if line]
  at = next((i for i, line in enumerate(lines) if '[[{{' in line), None)
  if at is not None and lines[at].lstrip().startswith('[['):
    at -= 1
  text = re.split(r' \[\[| Shapes are', lines[at or 0])[0]
  # Folders and numbers of anonymous resources change from run to run.
  return re.sub(r"'_\d+_", "'_N_", re.sub(r'/tmp/tmp\w+', TEMP_DIR, text))[:200]


def _step(session, case, collection, feeds, fetches, targets=(), expect_error=False, folder=None):
  """Runs one step and appends it, with its result, to the case."""
  request, response = RunStepRequest(), RunStepResponse()
  for tensor, value in feeds.items():
    request.feed.add(name=tensor.name).tensor.CopyFrom(tensor_proto(_portable(value, folder), tensor.dtype.base_dtype))
  request.fetch.extend(t.name for t in fetches)
  request.target.extend(t.name for t in targets)
  values = None
  try:
    values = session.run([list(fetches), list(targets)], feed_dict=feeds, options=tf.RunOptions(timeout_in_ms=20000))[0]
  except tf.errors.OpError as e:
    if not expect_error or isinstance(e, tf.errors.DeadlineExceededError):
      raise
    response.status_code = e.error_code
    response.status_error_message = _first_words(e.message)
  else:
    if expect_error:
      raise AssertionError('%s: expected an error' % case.meta_info_def.meta_graph_version)
    for tensor, value in zip(fetches, values):
      response.tensor.add(name=tensor.name).tensor.CopyFrom(
          tensor_proto(_portable(value, folder), tensor.dtype.base_dtype))
  steps = case.collection_def[collection].bytes_list.value
  steps.append(request.SerializeToString(deterministic=True))
  steps.append(response.SerializeToString(deterministic=True))
  return values


def _new_case(name, covers, tolerance, options):
  case = meta_graph_pb2.MetaGraphDef()
  case.meta_info_def.meta_graph_version = name
  case.meta_info_def.tags.extend(covers)
  if tolerance is not None:
    rtol, atol = tolerance if isinstance(tolerance, tuple) else (tolerance, tolerance)
    case.collection_def['tolerance'].float_list.value.extend([rtol, atol])
  if options:
    case.collection_def['options'].node_list.value.extend(options)
  return case


def _set_shape(info, shape):
  info.tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())


def _shape_variant(case, index, outputs, override, values=None):
  """Static shapes of `outputs` when the nodes of `override` are placeholders of given shapes; without values, only errors."""
  graph_def = tf.GraphDef()
  graph_def.CopyFrom(case.graph_def)
  signature = meta_graph_pb2.SignatureDef()
  for node in graph_def.node:
    if node.name not in override:
      continue
    dtype = node.attr['dtype'].type
    node.op = 'Placeholder'
    node.attr.clear()
    node.attr['dtype'].type = dtype
    node.attr['shape'].shape.CopyFrom(tf.TensorShape(override[node.name]).as_proto())
    info = signature.inputs[node.name]
    info.name, info.dtype = node.name, dtype
    _set_shape(info, override[node.name])
  with tf.Graph().as_default() as graph:
    try:
      tf.import_graph_def(graph_def, name='')
    except ValueError as e:
      if values is not None:  # knows too little for TensorFlow
        return
      signature.method_name = 'error: ' + str(e)[:120]
    else:
      if values is None:
        return
      for name, value in zip(outputs, values):
        tensor = graph.get_tensor_by_name(name)
        if not tensor.shape.is_compatible_with(np.shape(value)):  # TensorFlow's own mistake
          continue
        info = signature.outputs[name]
        info.name, info.dtype = name, tensor.dtype.base_dtype.as_datatype_enum
        _set_shape(info, tensor.shape)
  case.signature_def['shapes/%d' % index].CopyFrom(signature)


def _record_shapes(case, outputs, values, placeholders, consts):
  full = {t.op.name: t.shape.as_list() for t in placeholders}
  variants = [full, {n: [None] + s[1:] if s else s for n, s in full.items()},
              {n: [None] * len(s) for n, s in full.items()}, {n: None for n in full}]
  if consts:
    variants.append(dict(full, **{t.op.name: t.shape.as_list() for t in consts}))
  for i, variant in enumerate(variants):
    _shape_variant(case, i, outputs, variant, values)


def _record_gradients(case, session_graph, ys, xs, feeds, dys):
  signature = case.signature_def['gradient']
  for y, dy in zip(ys, dys):
    signature.outputs[dy.op.name].name = y.name
  try:
    grads = tf.gradients(ys, xs, grad_ys=dys)
  except LookupError:
    signature.method_name = 'missing'
    for i, x in enumerate(xs):
      signature.inputs['gradient_%d' % i].name = x.name
    return
  fetches = []
  for i, (x, g) in enumerate(zip(xs, grads)):
    if g is None:
      signature.inputs['none_%d' % i].name = x.name
      continue
    signature.inputs['gradient_%d' % i].name = x.name
    fetches.append(tf.identity(tf.convert_to_tensor(g), name='gradient_%d' % i))
  if fetches:
    with tf.Session(graph=session_graph, config=_CONFIG) as session:
      _step(session, case, 'gradient_steps', feeds, fetches)


def differentiable(tensor):
  return tensor.dtype.is_floating or tensor.dtype.is_complex


def _python_value(value):
  kind = value.WhichOneof('value')
  if kind == 'list':
    return [v for field in ('s', 'i', 'f', 'b', 'type', 'shape', 'func') for v in getattr(value.list, field)]
  return tf.TensorShape(value.shape) if kind == 'shape' else getattr(value, kind)


class _Applied:
  """A new node and its outputs."""

  def __init__(self, op):
    self.op = op
    self.outputs = op.outputs

  def __getitem__(self, i):
    return self.outputs[i]


def apply(op, name=None, **kwargs):
  """Adds a node of any op; absent attributes get their defaults."""
  op_def = op_def_registry.get(op)
  inferred = {a for arg in op_def.input_arg for a in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
  for attr in op_def.attr:
    if attr.HasField('default_value') and attr.name not in kwargs and attr.name not in inferred:
      kwargs[attr.name] = _python_value(attr.default_value)
  return _Applied(op_def_library._apply_op_helper(op, name=name, **kwargs)[2])


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


def _case_name(op, label, dtype):
  name = '%s/%s' % (STORE.family, op)
  for part in (label, dtype and type_name(dtype)):
    name += '_' + part if part else ''
  n, unique = 1, name
  while unique in STORE.names:
    n += 1
    unique = '%s_%d' % (name, n)
  return unique


def _convert_inputs(op, inputs, attr, dtype):
  def one(arg, value):
    return convert(value, dtype) if arg.type_attr == attr else np.asarray(value)
  return [[one(arg, v) for v in value] if isinstance(value, list) else one(arg, value)
          for arg, value in zip(op_def_registry.get(op).input_arg, inputs)]


def op(op, *inputs, types=('float',), attr='T', label='', const=(), grad=True, fd=True, error=False, unknown=False,
       tolerance=None, shapes=True, options=(), **attrs):
  """Records one op.

  inputs     arrays, or lists of arrays for N * T; those of the swept attribute are converted to each type
  types      'all' (every CPU kernel), or a list; None: inputs are taken as they are
  const      positions of inputs that are constants, not placeholders
  grad, fd   whether to record gradients (of floating inputs) and to check them by finite differences
  error      the op must fail; shapes of placeholders are then unknown, so that the kernel sees the inputs
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
      _record_op(op, values, typed, label, dtype, const, grad, fd, error, unknown, tolerance, shapes and first, options)
    except Exception as e:  # a family is looked at as a whole
      STORE.problems.append('%s %s: %s' % (_case_name(op, label, dtype), type(e).__name__, str(e).split('\n')[0][:200]))
    first = False


def _record_op(op, inputs, attrs, label, dtype, const, grad, fd, error, unknown, tolerance, shapes, options):
  name = _case_name(op, label, dtype)
  case = _new_case(name, [op], tolerance, list(options) + ([] if fd else ['no_finite_differences']))
  with tf.Graph().as_default() as graph:
    g = _OpGraph(op, inputs, attrs, const, unknown or error)
    outputs = [t for t in g.op.outputs if t.dtype not in (tf.resource, tf.variant)]
    wanted = grad and not error and dtype is not None and tf.as_dtype(dtype) in (tf.float32, tf.float64, tf.complex64)
    xs = [t for t in g.placeholders if differentiable(t)] if wanted else []
    with tf.Session(graph=graph, config=_CONFIG) as session:
      case.graph_def.CopyFrom(graph.as_graph_def())
      values = _step(session, case, 'steps', g.feeds, outputs, [] if outputs else [g.op], expect_error=error)
    ys = [(t, v) for t, v in zip(outputs, values or []) if differentiable(t)]
    if xs and ys:
      random = rng(name, 'dy')
      dys = []
      for i, (t, v) in enumerate(ys):
        dys.append(tf.placeholder(t.dtype, None if unknown else v.shape, name='dy%d' % i))
        g.feeds[dys[-1]] = convert(random.uniform(-1, 1, v.shape), t.dtype)
      case.graph_def.CopyFrom(graph.as_graph_def())
      _record_gradients(case, graph, [t for t, _ in ys], xs, g.feeds, dys)
    if error:
      _shape_variant(case, 0, [], {t.op.name: np.shape(g.feeds[t]) for t in g.placeholders})
    elif shapes and outputs and not unknown:
      _record_shapes(case, [t.name for t in outputs], values, g.placeholders, g.consts)
  STORE.add(case)


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
  case = _new_case(name, [], tolerance, list(options) + ([] if fd else ['no_finite_differences']))
  with tf.Graph().as_default() as graph:
    s = Script()
    try:
      yield s
      _record_script(case, op, covers, graph, s)
    except Exception as e:
      STORE.problems.append('%s %s: %s' % (name, type(e).__name__, str(e).split('\n')[0][:200]))
      return
  STORE.add(case)


def _record_script(case, op, covers, graph, s):
  name = case.meta_info_def.meta_graph_version
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
    _record_gradients(case, graph, s.gradient[0], s.gradient[1], s.gradient[2], dys)
  for t in s.shapes:
    info = case.signature_def['shapes/0'].outputs[t.name]
    info.name, info.dtype = t.name, t.dtype.base_dtype.as_datatype_enum
    _set_shape(info, t.shape)


def _run_script(case, graph, s, folder):
  for file, data in s.files.items():
    (pathlib.Path(folder) / file).write_bytes(data)
    case.collection_def['files'].bytes_list.value.extend([file.encode(), data])
  with tf.Session(graph=graph, config=_CONFIG) as session:
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
      _step(session, case, 'steps', real, fetches, targets, expect_error=error, folder=folder)
