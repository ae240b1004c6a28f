# SPDX-License-Identifier: Apache-2.0
"""What a case holds besides its steps: static shapes and gradients."""
from steps import run_step
from tensorflow1 import CONFIG, tf

import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2


def set_shape(info, shape):
  info.tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())


def shape_variant(case, index, outputs, override, values=None):
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
    set_shape(info, override[node.name])
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
        set_shape(info, tensor.shape)
  case.signature_def['shapes/%d' % index].CopyFrom(signature)


def record_shapes(case, outputs, values, placeholders, consts):
  full = {t.op.name: t.shape.as_list() for t in placeholders}
  variants = [full, {n: [None] + s[1:] if s else s for n, s in full.items()},
              {n: [None] * len(s) for n, s in full.items()}, {n: None for n in full}]
  if consts:
    variants.append(dict(full, **{t.op.name: t.shape.as_list() for t in consts}))
  for i, variant in enumerate(variants):
    shape_variant(case, i, outputs, variant, values)


def record_gradients(case, session_graph, ys, xs, feeds, dys):
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
    with tf.Session(graph=session_graph, config=CONFIG) as session:
      run_step(session, case, 'gradient_steps', feeds, fetches)
