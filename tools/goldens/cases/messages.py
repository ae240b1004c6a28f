# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers: fields of messages as tensors, and back."""
import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from record import apply, script, tf

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    'double': (tf.float64,), 'float': (tf.float32, tf.float64), 'int64': (tf.int64,), 'uint64': (tf.uint64,), 'int32': (tf.int32, tf.int64),
    'fixed64': (tf.uint64,), 'fixed32': (tf.uint32, tf.uint64), 'bool': (tf.bool,), 'string': (tf.string,), 'bytes': (tf.string,),
    'uint32': (tf.uint32, tf.uint64), 'sfixed32': (tf.int32, tf.int64), 'sfixed64': (tf.int64,), 'sint32': (tf.int32, tf.int64), 'sint64': (tf.int64,)}
DEFAULTS = {'double': '1.5', 'float': '-inf', 'int64': '-5', 'uint64': '18446744073709551615', 'int32': '-7', 'bool': 'true', 'string': 'text',
            'bytes': 'a\\001b', 'sint32': '-9', 'fixed32': '4294967295'}


def schema():
  """Messages with fields of every type: once (with defaults), repeated, packed."""
  file = descriptor_pb2.FileDescriptorProto(name='all.proto', package='all', syntax='proto2')
  part = file.message_type.add(name='Part')
  part.field.add(name='number', number=1, type=FIELD.TYPE_INT32, label=FIELD.LABEL_OPTIONAL)
  file.enum_type.add(name='Kind').value.extend([
      descriptor_pb2.EnumValueDescriptorProto(name='MINUS', number=-1), descriptor_pb2.EnumValueDescriptorProto(name='TWO', number=2)])
  whole = file.message_type.add(name='Whole')
  whole.extension_range.add(start=1000, end=2000)
  number = 1
  for name in SCALARS:
    for prefix, label in (('', FIELD.LABEL_OPTIONAL), ('many_', FIELD.LABEL_REPEATED), ('packed_', FIELD.LABEL_REPEATED)):
      if prefix == 'packed_' and name in ('string', 'bytes'):
        continue
      field = whole.field.add(name=prefix + name + '_field', number=number, type=getattr(FIELD, 'TYPE_' + name.upper()), label=label)
      if prefix == 'packed_':
        field.options.packed = True
      if not prefix and name in DEFAULTS:
        field.default_value = DEFAULTS[name]
      number += 1
  for name, kind, type_name in (('kind', FIELD.TYPE_ENUM, '.all.Kind'), ('part', FIELD.TYPE_MESSAGE, '.all.Part')):
    whole.field.add(name=name, number=number, type=kind, type_name=type_name, label=FIELD.LABEL_OPTIONAL)
    whole.field.add(name='many_' + name, number=number + 1, type=kind, type_name=type_name, label=FIELD.LABEL_REPEATED)
    number += 2
  whole.field.add(name='thegroup', number=200, type=FIELD.TYPE_GROUP, type_name='.all.Whole.TheGroup', label=FIELD.LABEL_REPEATED)
  whole.nested_type.add(name='TheGroup').field.add(name='inside', number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
  file.extension.add(name='more', number=1000, type=FIELD.TYPE_INT32, label=FIELD.LABEL_REPEATED, extendee='.all.Whole')
  needy = file.message_type.add(name='Needy')
  needy.field.add(name='must', number=1, type=FIELD.TYPE_INT32, label=FIELD.LABEL_REQUIRED)
  needy.field.add(name='may', number=2, type=FIELD.TYPE_INT32, label=FIELD.LABEL_OPTIONAL)
  return descriptor_pb2.FileDescriptorSet(file=[file])


SET = schema()
SOURCE = b'bytes://' + SET.SerializeToString()
POOL = descriptor_pool.DescriptorPool()
POOL.Add(SET.file[0])
Whole = message_factory.GetMessageClass(POOL.FindMessageTypeByName('all.Whole'))
EXTREMES = {'double': [0.0, -1e300, float('inf')], 'float': [0.0, 1.5, float('-inf')], 'bool': [True, False, True],
            'string': ['', 'a', 'more than that'], 'bytes': [b'\0', b'\xff\xfe', b'']}
for _name in ('int64', 'sint64', 'sfixed64'):
  EXTREMES[_name] = [0, -2**63, 2**63 - 1]
for _name in ('int32', 'sint32', 'sfixed32'):
  EXTREMES[_name] = [-1, -2**31, 2**31 - 1]
for _name in ('uint32', 'fixed32'):
  EXTREMES[_name] = [1, 2**31, 2**32 - 1]
for _name in ('uint64', 'fixed64'):
  EXTREMES[_name] = [1, 2**63, 2**64 - 1]


def message(name, count):
  m = Whole()
  for prefix in ('many_', 'packed_'):
    if hasattr(m, prefix + name + '_field'):
      getattr(m, prefix + name + '_field').extend(EXTREMES[name][:count])
  if count:
    setattr(m, name + '_field', EXTREMES[name][count - 1])
  return m


def decode(messages, names, types, kind='all.Whole', source=SOURCE, **attrs):
  return apply('DecodeProtoV2', bytes=tf.constant(messages), message_type=kind, field_names=names, output_types=types, descriptor_source=source,
               **attrs).outputs


def encode(sizes, values, names, kind='all.Whole', source=SOURCE):
  return apply('EncodeProto', sizes=tf.constant(np.int32(sizes)), values=[tf.convert_to_tensor(v) for v in values], field_names=names, message_type=kind,
               descriptor_source=source)[0]


def fields(name):
  return [p + name + '_field' for p in ('', 'many_', 'packed_') if p + name + '_field' in Whole.DESCRIPTOR.fields_by_name]


def scalars():
  for name, types in SCALARS.items():
    messages = [message(name, n).SerializeToString() for n in (0, 3, 1)]
    for dtype in types:
      with script('DecodeProtoV2', '%s_%s' % (name, dtype.name)) as s:
        names = fields(name)[:2 if (name, dtype) == ('int32', tf.int64) else 3]  # TensorFlow forgets the sign of packed ones
        out = decode(messages, names, [dtype] * len(names))
        s.run(out)
        s.static_shapes(*out)
        s.run(decode([messages], names[::-1], [dtype] * len(names), sanitize=True))
        s.run(encode(np.stack([np.arange(len(names)) % 2 + 1] * 2), [tf.reshape(tf.tile(v[1:2, :1], [2, 2]), [2, 2]) for v in out[1:]], names))
        s.run(encode([[0] * len(names), [1] + [3] * (len(names) - 1), [1] * len(names)], out[1:], names))
    with script('DecodeProtoV2', name + '_other_type') as s:
      s.run(decode(messages, fields(name)[:1], [tf.complex64]), error=True)
      s.run(encode([[1]], [np.complex64([[1]])], fields(name)[:1]), error=True)


def others():
  m = Whole(kind=2, many_kind=[-1, 2])
  m.part.number = 7
  m.many_part.add(number=1)
  m.many_part.add()
  m.thegroup.add(inside='x')
  m.thegroup.add()
  m.Extensions[POOL.FindExtensionByName('all.more')].extend([4, -5])
  data = m.SerializeToString()
  names, types = ['many_kind', 'kind', 'part', 'many_part', 'thegroup', 'all.more'], [tf.int32] * 2 + [tf.string] * 3 + [tf.int32]
  with script('DecodeProtoV2', 'others') as s:
    s.run(decode([data, b''], names, types))
    s.run(decode([data + data, data], names, types))
    s.run(decode(data, [], []))
    s.run(encode([[1, 2, 1, 2, 2]], decode([data], names[:5], types[:5])[1:], names[:5]), error=True)
    s.run(encode([[2, 1, 1, 2, 2]], decode([data], names[:5], types[:5])[1:], names[:5]))
  with script('DecodeProtoV2', 'text') as s:
    s.run(decode(['int32_field: 3 many_string_field: ["a", "b"]', ''], ['int32_field', 'many_string_field'], [tf.int32, tf.string], message_format='text'))
    s.run(decode(['int32_field: x'], ['int32_field'], [tf.int32], message_format='text'), error=True)
    s.run(decode(['must: 1'], ['must', 'may'], [tf.int32] * 2, kind='all.Needy', message_format='text'))
    s.run(decode([b'\x10\x01'], ['must', 'may'], [tf.int32] * 2, kind='all.Needy'))
    s.run(decode([b'\x10\x01'], ['must', 'may'], [tf.int32] * 2, kind='all.Needy', sanitize=True), error=True)
  with script('DecodeProtoV2', 'local') as s:
    node = tf.NodeDef(name='n', op='Add', input=['a', 'b']).SerializeToString()
    local = dict(kind='tensorflow.NodeDef', source='local://')
    sizes, *values = decode([node], ['input', 'name', 'device'], [tf.string] * 3, **local)
    s.run([sizes, *values])
    s.run(encode([[2, 1, 0]], values, ['input', 'name', 'device'], **local))
  with script('DecodeProtoV2', 'no_file') as s:
    s.run(decode([data], names, types, source='no/such/file'), error=True)


def broken():
  data = message('int32', 3).SerializeToString() + message('string', 3).SerializeToString()
  names, types = fields('int32') + fields('string'), [tf.int32] * 3 + [tf.string] * 2
  with script('DecodeProtoV2', 'broken') as s:
    for cut in range(1, len(data)):
      whole = False
      try:
        Whole.FromString(data[:cut])
        whole = True
      except Exception:  # noqa: BLE001  the parser's error depends on protobuf's implementation
        pass
      s.run(decode([data[:cut]], names, types), error=not whole)
    n = Whole.DESCRIPTOR.fields_by_name['packed_double_field'].number
    tag = lambda number, wire: bytes([number << 3 & 127 | wire | 128, number >> 4])
    for bad in (tag(n, 2) + b'\x07' + b'1' * 7, tag(n, 2) + b'\x80', tag(n, 2) + b'\xff\xff\xff\xff\x0f', b'\0', b'\x0c', b'\x0b', tag(200, 3) + tag(201, 4),
                tag(200, 3), tag(200, 2) + b'\x01a', tag(n, 7), b'\xff' * 11):
      s.run(decode([bad], ['packed_double_field', 'thegroup'], [tf.float64, tf.string]), error=True)
    for odd in (tag(n, 2) + b'\0', tag(n, 0) + b'\x01', tag(n, 5) + b'1234', tag(200, 3) + b'\x0b\x0c' + tag(200, 4)):
      s.run(decode([odd], ['packed_double_field', 'thegroup'], [tf.float64, tf.string]))
  with script('DecodeProtoV2', 'refused') as s:
    s.run(decode([data], ['none'], [tf.int32]), error=True)
    s.run(decode([data], ['int32_field'], [tf.int32], kind='all.None'), error=True)
    s.run(decode([data], ['int32_field'], [tf.int32], source=b'bytes://\x0a\x7f'), error=True)
    s.run(decode([data], ['int32_field', 'bool_field'], [tf.int32]), error=True)
    s.run(decode([data], ['int32_field'], [tf.float32]), error=True)
    s.run(decode([data], ['int32_field'], [tf.int32], message_format='json'), error=True)
    s.run(decode(np.zeros([0], object), ['int32_field'], [tf.int32]), error=True)
    clash = descriptor_pb2.FileDescriptorSet(file=[SET.file[0], SET.file[0]])
    clash.file[1].name = 'again.proto'
    s.run(decode([data], ['int32_field'], [tf.int32], source=b'bytes://' + clash.SerializeToString()), error=True)
  feed = lambda v: tf.placeholder_with_default(np.asarray(v), None)
  with script('EncodeProto', 'refused') as s:
    for sizes, values, names in (([[2]], [feed(np.int32([[1]]))], ['int32_field']), ([1], [feed(np.int32([[1]]))], ['int32_field']),
                                 ([[1]], [feed(np.int32([1]))], ['int32_field']), ([[1]], [feed(np.int32([[1]]))], ['none']),
                                 ([[1]], [feed(np.int32([[1]]))], ['int32_field', 'bool_field']), ([[1]], [feed(np.int32([[1]]))], ['bool_field']),
                                 ([[1, 1]], [feed(np.int32([[1]])), feed(np.int32([[1], [2]]))], ['int32_field', 'sint32_field'])):
      s.run(encode(sizes, values, names), error=True)
    s.run(encode([[1]], [feed(np.int32([[1]]))], ['int32_field'], kind='all.None'), error=True)
    s.run(encode(np.zeros([0, 1]), [feed(np.zeros([0, 3], np.int32))], ['int32_field']))


def cases():
  scalars()
  others()
  broken()
