# SPDX-License-Identifier: Apache-2.0
"""Ops on strings: cutting, joining, replacing, hashing, encodings."""
import numpy as np

from record import op, tf

S = lambda *values: np.array(values, object)
STR = lambda v: np.array(v, object)
I32, I64 = np.int32, np.int64
PHRASES = S('the quick brown fox', ' two  blanks ', '', 'one', 'a,b;;c', '\ttab\nline')
UNICODE = S('häßlich Ünï', 'ΑΒΓ αβγς', 'Привет', '日本語', '', 'a\U0001f600b', b'bad\xff\xe2\x82 end', b'\xed\xa0\x80')


def pieces():
  for delimiter in (' ', ',;', '', 'x'):
    for skip in (True, False):
      op('StringSplit', PHRASES, STR(delimiter), types=None, label='delimiters', skip_empty=skip)
  op('StringSplit', PHRASES.reshape(2, 3), STR(' '), types=None, label='matrix', error=True)
  op('StringSplit', PHRASES, S(' '), types=None, label='vector', error=True)
  for sep in ('', ' ', ';', 'ick '):
    for limit in (-1, 0, 1, 2):
      op('StringSplitV2', PHRASES, STR(sep), types=None, label='forms', maxsplit=limit)
  op('StringSplitV2', PHRASES.reshape(2, 3), STR(' '), types=None, label='matrix', error=True)
  for t in (I32, I64):
    op('Substr', S('hello', 'world!'), t(1), t(3), types=None, label=np.dtype(t).name)
  op('Substr', S('hello', 'world!'), I32([-2, 3]), I32([9, 0]), types=None, label='each')
  op('Substr', S('abcd', 'efgh').reshape(2, 1), I32([[0, 1, 2], [3, 4, -4]]), I32([[1, 2, 3], [1, 1, 2]]), types=None, label='broadcast')
  op('Substr', UNICODE[:5], I32(0), I32(3), types=None, label='characters', unit='UTF8_CHAR')
  op('Substr', UNICODE[:4], I32(-3), I32(2), types=None, label='last', unit='UTF8_CHAR')
  op('Substr', S('abc'), I32(4), I32(1), types=None, label='beyond', error=True)
  op('Substr', S('abc'), I32(-4), I32(1), types=None, label='before', error=True)
  op('Substr', S('abc', 'abc'), I32([0, 1]), I32([1]), types=None, label='shapes', error=True)
  for shape in ([1, 1, 1], [2, 1, 3]):
    x = np.full(shape, b'abcdef', object)
    op('Substr', x, I32(1), I32(2), types=None, label='volume')
    op('Substr', x, np.full(shape, 1, I32), np.full(shape, 2, I32), types=None, label='volumes')
    op('Substr', x, I32([1, 2, 3]), I32([1, 1, 1]), types=None, label='broadcast_volume', error=True)
  x = S('a', 'b', 'c', 'd', 'e', 'f').reshape(2, 3)
  for axes in (0, 1, -1, [0, 1], [1, 0], [], [-2]):
    op('ReduceJoin', x, np.array(axes, I32), types=None, label='axes', const=(1,))
    op('ReduceJoin', x, np.array(axes, I32), types=None, label='kept', const=(1,), keep_dims=True, separator='-')
  op('ReduceJoin', x, I32(2), types=None, label='bad_axis', error=True)
  op('ReduceJoin', x, I32([0, -2]), types=None, label='twice', error=True)
  op('UnsortedSegmentJoin', x, I32([1, 1]), I32(3), types=None, const=(2,), separator=':')
  op('UnsortedSegmentJoin', x, I64([[1, 0, 1], [0, 0, 0]]), I64(2), types=None, label='matrix', separator=',')
  op('UnsortedSegmentJoin', x, I32([1, 3]), I32(3), types=None, label='out_of_range', error=True)
  op('UnsortedSegmentJoin', x, I32([1, -1]), I32(3), types=None, label='negative', error=True)


def changed():
  for pattern, rewrite in [('a', 'b'), ('[a-z]+', '<\\0>'), ('(\\w) (\\w)', '\\2_\\1'), ('^', '>'), (' +', ' ')]:
    for all in (True, False):
      op('RegexReplace', PHRASES, STR(pattern), STR(rewrite), types=None, label='patterns', replace_global=all)
      op('StaticRegexReplace', PHRASES, types=None, label='patterns', pattern=pattern, rewrite=rewrite, replace_global=all)
  op('RegexReplace', PHRASES, STR('('), STR('x'), types=None, label='bad', error=True)
  op('StaticRegexReplace', PHRASES, types=None, label='bad', pattern='(', rewrite='x', error=True)
  for name in ('StringLower', 'StringUpper'):
    op(name, S('MiXed 123', 'ÄÖ'), types=None)
    op(name, UNICODE[1:6], types=None, label='unicode', encoding='utf-8')
  op('StringLower', UNICODE[:1], types=None, label='latin', encoding='utf-8')
  op('StringStrip', PHRASES, types=None)
  op('StringLength', UNICODE, types=None)
  op('StringLength', UNICODE, types=None, label='characters', unit='UTF8_CHAR')
  raw = S(b'', b'a', b'ab', b'abc', bytes(range(256)))
  op('EncodeBase64', raw, types=None)
  op('EncodeBase64', raw, types=None, label='pad', pad=True)
  op('DecodeBase64', S('', 'YQ', 'YQ==', 'YWI', 'YWJj', '_-8='), types=None)
  for text in ('Y', 'YQ=', 'Y+==', 'Y WJ', 'YQ==YQ==', 'YWJjY', 'YWJj='):
    op('DecodeBase64', S(text), types=None, label='bad', error=True)


def hashed():
  words = S(*['x' * n + 'y%d' % n for n in list(range(0, 70)) + [127, 128, 129, 300]])
  for name, kw in (('StringToHashBucketFast', {}), ('StringToHashBucket', {}), ('StringToHashBucketStrong', dict(key=[123, -7]))):
    op(name, words, types=None, num_buckets=2**62, **kw)
    op(name, PHRASES.reshape(2, 3), types=None, label='few', num_buckets=10, **kw)
  op('StringToHashBucketStrong', PHRASES, types=None, label='key', num_buckets=10, key=[1], error=True)


def printed():
  x = np.arange(24.0).reshape(2, 3, 4) / 4
  for t, v in (('float', x), ('int32', x), ('string', np.array([['a', 'b"c'], ['', 'd\n']], object)), ('bool', x - 1), ('double', x / 3), ('half', x)):
    op('StringFormat', [np.asarray(v) if t == 'string' else v.astype(tf.as_dtype(t).as_numpy_dtype)], types=None, label=t, template='[%s]', placeholder='%s')
  for n in (-1, 1, 2):
    op('StringFormat', [np.arange(10, dtype=I32), x], types=None, label='ends', template='first {} and {}', placeholder='{}', summarize=n)
  op('StringFormat', [np.float32([1 / 3, 0.1, 1e10, 1e-7, 123456789])], types=None, label='digits', template='%s', summarize=-1)
  op('StringFormat', [UNICODE], types=None, label='unicode', template='ä%s', summarize=-1)
  op('StringFormat', [I32(4)], types=None, label='scalar', template='%s')
  op('StringFormat', [np.zeros([0], I32)], types=None, label='empty', template='%s')


def grams():
  tokens, splits = S('aa', 'bb', 'cc', 'dd', 'ee', 'ff'), I64([0, 4, 4, 5, 6])
  def ngrams(label, widths, left='', right='', pad=0, short=False, s=splits, **kw):
    op('StringNGrams', tokens, s, types=None, label=label, separator='|', ngram_widths=widths, left_pad=left, right_pad=right, pad_width=pad,
       preserve_short_sequences=short, **kw)
  ngrams('three', [3])
  ngrams('several', [1, 2])
  ngrams('padded', [3], 'LP', 'RP', -1)
  ngrams('one_pad', [3], 'LP', 'RP', 1)
  ngrams('short', [3], short=True)
  ngrams('short_pad', [5], 'LP', 'RP', 1, True, s=splits.astype(I32))
  ngrams('bad_splits', [3], s=I64([0, 3, 2, 6]), error=True)
  ngrams('bad_end', [3], s=I64([0, 3]), error=True)


def characters():
  for errors in ('replace', 'ignore'):
    for name in ('UnicodeDecode', 'UnicodeDecodeWithOffsets'):
      op(name, UNICODE, types=None, label=errors, input_encoding='UTF-8', errors=errors)
  op('UnicodeDecode', UNICODE, types=None, label='strict', input_encoding='UTF-8', errors='strict', error=True)
  op('UnicodeDecode', S('a\x01b\x7f'), types=None, label='control', input_encoding='UTF-8', replace_control_characters=True, replacement_char=63)
  op('UnicodeDecode', S(*[u.encode('utf-16-be') for u in ('abc', 'a\U0001f600b')]), types=None, label='utf16', input_encoding='UTF-16-BE', Tsplits=tf.int32)
  op('UnicodeDecode', S(*[u.encode('utf-32-be') for u in ('abc', 'a\U0001f600b')]), types=None, label='utf32', input_encoding='UTF-32-BE')
  op('UnicodeDecode', S(b'a\xe4'), types=None, label='latin1', input_encoding='ISO-8859-1')
  for out in ('UTF-8', 'UTF-16-BE', 'UTF-32-BE'):
    op('UnicodeEncode', I32([104, 228, 0x1f600, 0x65e5, 97]), I64([0, 3, 3, 5]), types=None, label='to', output_encoding=out)
    op('UnicodeTranscode', UNICODE, types=None, label='to', input_encoding='UTF-8', output_encoding=out)
  op('UnicodeEncode', I32([97, -1, 0xd800, 0x110000, 98]), I32([0, 5]), types=None, label='replace', output_encoding='UTF-8')
  op('UnicodeEncode', I32([97, -1, 98]), I32([0, 3]), types=None, label='ignore', output_encoding='UTF-8', errors='ignore')
  op('UnicodeEncode', I32([97, -1]), I32([0, 2]), types=None, label='strict', output_encoding='UTF-8', errors='strict', error=True)
  op('UnicodeEncode', I32([97, 98]), I32([0, 1]), types=None, label='splits', output_encoding='UTF-8', error=True)
  op('UnicodeTranscode', S(b'\x00\xffa\x1f'), types=None, label='control', input_encoding='UTF-8', output_encoding='UTF-8', errors='ignore',
     replace_control_characters=True)
  marked = S(b'\xfe\xff\x00*', b'\xff\xfe*\x00', b'\x00<\xfe\xff\x00>', b'\xff\xfe<\x00\xff\xfe>\x00')
  for encoding in ('UTF-16', 'UTF-16-BE', 'UTF-16-LE'):
    for text in marked:  # one at a time: TensorFlow's converter keeps its state from string to string
      op('UnicodeTranscode', S(text), types=None, label='mark_' + encoding.replace('-', '_'), input_encoding=encoding, output_encoding='UTF-8')
      op('UnicodeDecodeWithOffsets', S(text), types=None, label='mark_' + encoding.replace('-', '_'), input_encoding=encoding)
  for encoding, python, words in (('SHIFT-JIS', 'shift_jis', '技グa'), ('shift_jis', 'shift_jis', '技\\'), ('gb18030', 'gb18030', '术a'), ('big5', 'big5', '術a'),
                                  ('euc-kr', 'euc_kr', '한민'), ('euc_kr', 'euc_kr', '한민'), ('koi8-r', 'koi8_r', 'Привет'), ('windows-1252', 'cp1252', '“é”')):
    op('UnicodeTranscode', S(words.encode(python), b''), types=None, label=encoding.replace('-', '_'), input_encoding=encoding, output_encoding='UTF-8')
    op('UnicodeDecodeWithOffsets', S(words.encode(python)), types=None, label=encoding.replace('-', '_'), input_encoding=encoding)
  op('UnicodeTranscode', S('a'), types=None, label='no_encoding', input_encoding='nonsense', output_encoding='UTF-8', error=True)
  scripts = np.concatenate([np.arange(0, 0x3100), np.arange(0x3100, 0x110000, 37), [-1, -100, 0x10ffff, 0x110000, 0xffffff]]).astype(I32)
  op('UnicodeScript', scripts, types=None)
  op('UnicodeScript', I32([[97, 0x411], [0x82b8, 44]]), types=None, label='matrix')
  op('UnicodeTranscode', UNICODE, types=None, label='strict', input_encoding='UTF-8', output_encoding='UTF-8', errors='strict', error=True)


def cases():
  pieces()
  changed()
  hashed()
  printed()
  grams()
  characters()
