# SPDX-License-Identifier: Apache-2.0
"""Runs steps of a session and keeps them, with their results, in a case."""
import re

from tensorflow1 import tf

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorflow.core.protobuf import named_tensor_pb2

TEMP_DIR = '{TMPDIR}'  # stands for the run's own folder in strings fed and fetched


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


def _tensor_proto(value, dtype):
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
  # Folders, numbers of anonymous resources and of datasets change from run to run.
  for changing, fixed in ((r'/tmp/tmp\w+', TEMP_DIR), (r"'_\d+_", "'_N_"), (r'(Dataset\w*):\d+', r'\1:N')):
    text = re.sub(changing, fixed, text)
  return text[:200]


def run_step(session, case, collection, feeds, fetches, targets=(), expect_error=False, folder=None):
  """Runs one step and appends it, with its result, to the case."""
  request, response = RunStepRequest(), RunStepResponse()
  for tensor, value in feeds.items():
    request.feed.add(name=tensor.name).tensor.CopyFrom(_tensor_proto(_portable(value, folder), tensor.dtype.base_dtype))
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
      raise AssertionError('expected an error')
    for tensor, value in zip(fetches, values):
      response.tensor.add(name=tensor.name).tensor.CopyFrom(
          _tensor_proto(_portable(value, folder), tensor.dtype.base_dtype))
  steps = case.collection_def[collection].bytes_list.value
  steps.append(request.SerializeToString(deterministic=True))
  steps.append(response.SerializeToString(deterministic=True))
  return values
