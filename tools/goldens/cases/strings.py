# SPDX-License-Identifier: Apache-2.0
"""Strings and summaries."""
import numpy as np
from tensorflow.core.framework import summary_pb2

from record import convert, op, tf

REALS = ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64')
S = lambda *values: np.array(values, object)


def text():
  op('StringJoin', [S('a', 'b'), S('c', 'd')], types=None)
  op('StringJoin', [S('a', 'b'), np.array('-', object), S('c', 'd')], types=None, label='separator', separator=', ')
  op('StringJoin', [np.array('a', object), np.array('b', object)], types=None, label='scalars', separator='/')
  op('StringJoin', [S('a', 'b'), S('c')], types=None, label='mismatch', error=True)
  op('StringJoin', [S(b'\xff\x00', 'b'), S('c', '')], types=None, label='bytes')
  for t in REALS + ('complex64', 'complex128', 'bool'):
    op('AsString', np.array([0.0, 1, -2.5, 100]), types=(t,))
  x = np.array([0.0, 1.5, -2.25, 1e10, 1e-7, np.nan, np.inf, 3.14159265])
  for kw in (dict(precision=2), dict(scientific=True), dict(shortest=True), dict(precision=3, scientific=True), dict(width=12),
             dict(width=12, fill='0'), dict(width=12, fill='-'), dict(precision=4, shortest=True), dict(width=10, fill=' ', precision=1)):
    op('AsString', x, types=('float', 'double'), label='formats', **kw)
  op('AsString', np.array([1, -20, 300]), types=('int32', 'int64'), label='widths', width=6, fill='0')
  op('AsString', np.array([1, -20, 300]), types=('int32',), label='left', width=6, fill='-')
  op('AsString', S('a', 'bc'), types=None, label='strings', width=4)
  op('AsString', np.array([1, 2]), types=('int32',), label='precision', precision=2, error=True)
  op('AsString', x[:2], types=('float',), label='both', scientific=True, shortest=True, error=True)
  op('AsString', x[:2], types=('float',), label='fill', width=3, fill='ab', error=True)
  for t in ('float', 'double', 'int32', 'int64', 'uint32', 'uint64'):
    op('StringToNumber', S('0', '12', ' 7 ', '+5') if t != 'x' else None, types=None, label=t, out_type=tf.as_dtype(t))
    op('StringToNumber', S('abc'), types=None, label=t + '_bad', out_type=tf.as_dtype(t), error=True)
    op('StringToNumber', S(''), types=None, label=t + '_empty', out_type=tf.as_dtype(t), error=True)
    op('StringToNumber', S('1 2'), types=None, label=t + '_two', out_type=tf.as_dtype(t), error=True)
  for t in ('float', 'double'):
    op('StringToNumber', S('-1.5e3', '.5', 'nan', 'inf', '-Infinity', '1e400' if t == 'double' else '3e38', '0.1', '123456789.123'),
       types=None, label=t + '_forms', out_type=tf.as_dtype(t))
  for t in ('int32', 'uint32', 'int64', 'uint64'):
    op('StringToNumber', S('99999999999999999999'), types=None, label=t + '_range', out_type=tf.as_dtype(t), error=True)
    op('StringToNumber', S('1.5'), types=None, label=t + '_fraction', out_type=tf.as_dtype(t), error=True)
  op('StringToNumber', S('-2147483648', '2147483647'), types=None, label='limits', out_type=tf.int32)
  for pattern in ('a.*', 'abc', '', '[a-c]+', 'a|b', '(ab)*', '\\d+', '^abc$', 'a{2,3}', '.b.'):
    op('StaticRegexFullMatch', S('abc', 'a', '', 'xabc', '12', 'aa', 'abab'), types=None, label='patterns', pattern=pattern)
    op('RegexFullMatch', S('abc', 'a', '', 'xabc', '12', 'aa', 'abab'), np.array(pattern, object), types=None, label='patterns')
  op('RegexFullMatch', S('abc'), np.array('(', object), types=None, label='bad', error=True)
  op('RegexFullMatch', S('abc'), S('a', 'b'), types=None, label='two_patterns', error=True)
  op('StaticRegexFullMatch', S('abc'), types=None, label='bad', pattern='(', error=True)
  raw = S(bytes(range(16)), bytes(range(16, 32)))
  for t in ('float', 'double', 'half', 'bfloat16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'complex64', 'complex128', 'bool'):
    data = S(bytes([0, 1] * 8), bytes([1, 1] * 8)) if t == 'bool' else raw
    op('DecodeRaw', data, types=None, label=t, out_type=tf.as_dtype(t))
    op('DecodeRaw', data, types=None, label=t + '_big', out_type=tf.as_dtype(t), little_endian=False)
  op('DecodeRaw', S(b'abc', b'abcd'), types=None, label='lengths', out_type=tf.uint8, error=True)
  op('DecodeRaw', S(b'abc'), types=None, label='not_whole', out_type=tf.int32, error=True)
  op('DecodeRaw', S(b'', b''), types=None, label='nothing', out_type=tf.int32)
  op('DecodeRaw', np.zeros([0], object), types=None, label='empty', out_type=tf.int32)
  op('DecodeRaw', np.array(b'abcd', object), types=None, label='scalar', out_type=tf.uint8)
  op('ShardedFilename', np.array('model', object), np.int32(3), np.int32(10), types=None)
  op('ShardedFilename', np.array('model', object), np.int32(100000), np.int32(100001), types=None, label='wide')


def summaries():
  kw = dict(options=('compare_summary',))
  tags, values = S('a', 'b/c'), np.array([1.5, -2])
  for t in REALS:
    op('ScalarSummary', tags, values, types=(t,), **kw)
    op('HistogramSummary', np.array('h', object), np.array([[1.0, 2], [2, 5]]), types=(t,), **kw)
  op('ScalarSummary', np.array('a', object), np.array(3.0), label='scalar', **kw)
  op('ScalarSummary', tags, np.array([1.0]), label='mismatch', error=True)
  op('HistogramSummary', np.array('h', object), np.array([-1e10, -3, 0, 0, 1e-15, 0.5, 3, 1e30]), types=('float', 'double'), label='wide', **kw)
  op('HistogramSummary', np.array('h', object), np.zeros([0]), label='empty', **kw)
  op('HistogramSummary', np.array('h', object), np.array([1.0, np.nan]), label='nan', error=True)
  op('HistogramSummary', np.array('h', object), np.array([1.0, np.inf]), label='inf', error=True)
  op('HistogramSummary', S('h', 'i'), np.array([1.0]), label='two_tags', error=True)
  op('HistogramSummary', np.array('h', object), np.resize(np.linspace(-3, 3, 101), [1000]), label='many', **kw)
  images = np.linspace(0, 1, 2 * 3 * 4 * 3).reshape(2, 3, 4, 3)
  for t in ('uint8', 'float', 'half', 'double'):
    for depth in (1, 3, 4) if t != 'double' else (3,):
      x = np.resize(images * (255 if t == 'uint8' else 1), [2, 3, 4, depth])
      op('ImageSummary', np.array('i', object), x, types=(t,), label='depth%d' % depth, max_images=2, **kw)
  op('ImageSummary', np.array('i', object), images[:1], types=('float',), label='one', max_images=1, **kw)
  op('ImageSummary', np.array('i', object), images[0], types=('float',), label='rank3', error=True)
  op('ImageSummary', np.array('i', object), images[..., :2], types=('float',), label='depth2', error=True)
  op('ImageSummary', S('i', 'j'), images, types=('float',), label='two_tags', error=True)
  def summary(**tags):
    return np.array(summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=t, simple_value=v) for t, v in tags.items()])
                    .SerializeToString(), object)
  op('MergeSummary', [summary(a=1), summary(b=2, c=3), np.array(b'', object)], types=None, **kw)
  op('MergeSummary', [summary(a=1), summary(a=2)], types=None, label='same_tag', error=True)
  op('MergeSummary', [np.array(b'\xff\xff', object)], types=None, label='garbage', error=True)
  metadata = summary_pb2.SummaryMetadata(plugin_data=dict(plugin_name='scalars'), display_name='d').SerializeToString()
  for t in REALS + ('complex64', 'bool', 'string'):
    op('TensorSummaryV2', np.array('t', object), convert(np.array([[1.0, 2], [3, 4]]), t), np.array(metadata, object), types=None,
       label=t, **kw)
  for t in REALS + ('string',):
    op('TensorSummary', convert(np.array([[1.0, 2], [3, 4]]), t), types=None, label=t, **kw)
  op('TensorSummary', np.zeros([0]), label='empty', display_name='d', **kw)
  sound = np.linspace(-1, 1, 2 * 5 * 2).reshape(2, 5, 2)
  rate = np.array(8000, np.float32)
  tag = np.array('s', object)
  for label, x in (('stereo', sound), ('one', sound[:1]), ('mono', sound[..., :1]), ('no_channels', sound[..., 0])):
    op('AudioSummaryV2', tag, x.astype(np.float32), rate, types=None, label=label, **kw)
  op('AudioSummaryV2', tag, sound.astype(np.float32), rate, types=None, label='first', max_outputs=1, **kw)
  op('AudioSummaryV2', tag, sound[0, 0].astype(np.float32), rate, types=None, label='rank1', error=True)
  op('AudioSummaryV2', S('s', 't'), sound.astype(np.float32), rate, types=None, label='two_tags', error=True)
  op('AudioSummaryV2', tag, sound.astype(np.float32), -rate, types=None, label='rate', error=True)


def csv():
  records = S('1,2.5,a,4', '-5,,"b ""q"", c",8', ',7e2,,')
  defaults = [np.array([9], np.int32), np.array([0.5], np.float32), S('none'), np.array([-1], np.int64)]
  def decode(label, records, defaults, **kw):
    op('DecodeCSV', records, defaults, types=None, label=label, **kw)
  decode('types', records, defaults)
  decode('scalar', np.array('1,2,3,4', object), defaults)
  decode('matrix', S('1', '2', '3', '4').reshape(2, 2), [np.array([0.0])])
  decode('empty', np.zeros([0], object), defaults)
  decode('scalar_default', S(',x'), [np.array(4, np.int32), np.array('d', object)])
  decode('tabs', S('1\ta,b', '2\t"c\td"'), [np.array([0], np.int32), S('')], field_delim='\t')
  decode('no_quotes', S('"a",b"c'), [S(''), S('')], use_quote_delim=False)
  decode('na', S('NA,NA', '1,x'), [np.array([7], np.int32), S('d')], na_value='NA')
  decode('select', S('1,2,3', '4,5,6'), [np.array([0], np.int32), np.array([0.0], np.float32)], select_cols=[0, 2])
  decode('lines', S('"a\nb",c'), [S(''), S('')])
  required = [np.zeros([0], np.int32)]
  decode('required', S('1', '2'), required)
  for label, text in (('missing', ''), ('not_int', 'x'), ('fraction', '1.5'), ('range', '99999999999'), ('extra', '1,2')):
    decode(label, S('1', text), required if label != 'extra' else defaults[:1], error=True)
  decode('few', S('1'), defaults[:2], error=True)
  decode('open_quote', S('"a'), [S('')], error=True)
  decode('quote_inside', S('a"b'), [S('')], error=True)
  decode('after_quote', S('"a"b'), [S('')], error=True)
  decode('two_defaults', S('1'), [np.array([1, 2], np.int32)], error=True)
  decode('delimiter', S('1'), defaults[:1], field_delim=',;', error=True)


def cases():
  text()
  summaries()
  csv()
