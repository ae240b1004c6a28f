# SPDX-License-Identifier: Apache-2.0
"""Sounds: WAV files (broken ones as well), spectrograms, and what speech models make of them."""
import struct

import numpy as np

from record import TEMP_DIR, apply, op, rng, script, tf
from tensorflow.python.framework import test_util

F32, I32 = np.float32, np.int32
NEAR = (1e-4, 1e-4)


def chunk(name, data, size=None):
  return name + struct.pack('<I', len(data) if size is None else size) + data


def header(channels=1, rate=8000, format_code=1, bits=16, frame=None, second=None, extra=b''):
  frame = 2 * channels if frame is None else frame
  second = (frame * rate) % 2**32 if second is None else second
  return chunk(b'fmt ', struct.pack('<HHIIHH', format_code, channels, rate, second, frame, bits) + extra)


def wav(*chunks, start=b'RIFF', kind=b'WAVE'):
  data = kind + b''.join(chunks)
  return start + struct.pack('<I', len(data)) + data


def samples(*values):
  return struct.pack('<%dh' % len(values), *values)


def S(contents):
  return np.array(contents, object)


DATA = chunk(b'data', samples(0, 1, -1, 32767, -32768, 100))
EXTENDED = header(extra=b'\0\0')

FILES = {
    'mono': wav(header(), DATA),
    'stereo': wav(header(2, 44100), DATA),
    'three': wav(header(3, 1), DATA),
    'many_channels': wav(header(7), DATA),
    'extended': wav(EXTENDED, DATA),
    'junk': wav(chunk(b'JUNK', b'12345'), chunk(b'bext', b''), header(), DATA),
    'list': wav(header(), chunk(b'LIST', b'abc'), DATA, chunk(b'more', b'xyz')),
    'tail_is_short': wav(header(), DATA, chunk(b'more', b'xyz', 1000)),
    'no_samples': wav(header(), chunk(b'data', b'')),
    'half_a_frame': wav(header(2), chunk(b'data', samples(5, 6))),
    'fast': wav(header(1, 2**31 - 1), DATA),
    'any_size': b'RIFF\0\0\0\0' + wav(header(), DATA)[8:],
}

BROKEN = {
    'empty': b'',
    'riff_only': b'RIFF',
    'riff': wav(header(), DATA, start=b'RIFX'),
    'wave': wav(header(), DATA, kind=b'WAVX'),
    'unknown': wav(chunk(b'what', b''), header(), DATA),
    'junk_size': wav(chunk(b'JUNK', b'', 2**32 - 1), header(), DATA),
    'format_size': wav(chunk(b'fmt ', b'\1\0\1\0' + b'\0' * 13), DATA),
    'compressed': wav(header(format_code=85), DATA),
    'no_channels': wav(header(0), DATA),
    'eight_bits': wav(header(bits=8), DATA),
    'frame': wav(header(frame=4), DATA),
    'second': wav(header(second=1), DATA),
    'second_wraps': wav(header(2, 2**31), DATA),
    'no_data': wav(header()),
    'only_others': wav(header(), chunk(b'LIST', b'abc')),
    'extended_only': wav(EXTENDED)[:-1],
    'two_data': wav(header(), DATA, DATA),
    'data_short': wav(header(), chunk(b'data', samples(1, 2), 10)),
    'data_huge': wav(header(), chunk(b'data', samples(1, 2), 2**31 - 1)),
    'data_larger': wav(header(), chunk(b'data', samples(1, 2), 2**31)),
    'odd_data': wav(header(), chunk(b'data', samples(1) + b'\1')),
    'cut_chunk': wav(header(), DATA, b'mor'),
}


def decoding():
  for label, contents in FILES.items():
    op('DecodeWav', S(contents), types=None, label=label)
  for channels, frames in ((1, -1), (2, 4), (5, 8), (-1, 1), (0, -1), (3, 0)):
    for label in ('mono', 'stereo', 'no_samples'):
      op('DecodeWav', S(FILES[label]), types=None, label=label + '_as', desired_channels=channels, desired_samples=frames)
  for label, contents in BROKEN.items():
    op('DecodeWav', S(contents), types=None, label=label, error=True)
  for cut in range(4, len(FILES['mono']), 5):
    with script('DecodeWav', 'cut_%d' % cut) as s:
      s.run(apply('DecodeWav', contents=tf.constant(FILES['mono'][:cut])).outputs, error=True)
  op('DecodeWav', np.array([FILES['mono']], object), types=None, label='vector', error=True)


def encoding():
  x = F32([[0, 0.5], [-1, 1], [1.5, -7], [1 / 65536, -3 / 65536], [0.1, np.inf]])
  for label, audio, rate in (('stereo', x, 44100), ('mono', x[:, :1], 8000), ('none', x[:0], 1), ('fast', x, 2**31 - 1)):
    op('EncodeWav', audio, I32(rate), types=None, label=label)
  op('EncodeWav', x[:, :0], I32(1), types=None, label='no_channels', error=True)
  op('EncodeWav', np.zeros([1, 65536], F32), I32(1), types=None, label='channels', error=True)
  op('EncodeWav', x, I32(0), types=None, label='no_rate', error=True)
  op('EncodeWav', x, I32(-8000), types=None, label='rate', error=True)
  op('EncodeWav', x[0], I32(1), types=None, label='rank', error=True)
  op('EncodeWav', x, I32([1]), types=None, label='rates', error=True)
  with script('EncodeWav', 'and_back') as s:
    s.run(apply('DecodeWav', contents=apply('EncodeWav', audio=tf.constant(x), sample_rate=tf.constant(123))[0]).outputs)


def spectrograms():
  t = np.arange(400) / 400.0
  x = np.stack([np.sin(2 * np.pi * 40 * t), rng('sound').uniform(-1, 1, 400)], 1).astype(F32)
  for window, stride in ((64, 32), (100, 50), (2, 7), (3, 200), (400, 1), (399, 1), (33, 64)):
    for squared in (False, True):
      op('AudioSpectrogram', x, types=None, label='windows', tolerance=NEAR, window_size=window, stride=stride, magnitude_squared=squared)
  op('AudioSpectrogram', x, types=None, label='short', window_size=401, stride=1)
  op('AudioSpectrogram', x[:0], types=None, label='empty', window_size=4, stride=1)
  op('AudioSpectrogram', x[:, :0], types=None, label='no_channels', window_size=4, stride=1)
  op('AudioSpectrogram', x[:, 0], types=None, label='rank', window_size=4, stride=1, error=True)


def fingerprints():
  x = rng('mel').uniform(0, 3, [2, 3, 129]).astype(F32)
  x[0, 0] = 0
  for label, attrs in (('defaults', {}), ('more', dict(filterbank_channel_count=20, dct_coefficient_count=20)),
                       ('one', dict(filterbank_channel_count=1, dct_coefficient_count=1)),
                       ('limits', dict(lower_frequency_limit=0, upper_frequency_limit=500)),
                       ('narrow', dict(lower_frequency_limit=300, upper_frequency_limit=301, filterbank_channel_count=13))):
    for rate in (8000, 16000, 44100):
      op('Mfcc', x, I32(rate), types=None, label=label, tolerance=NEAR, **attrs)
  op('Mfcc', x, I32(6000), types=None, label='beyond')
  op('Mfcc', x[:0], I32(8000), types=None, label='empty')
  op('Mfcc', x[..., :2], I32(8000), types=None, label='two', tolerance=NEAR)
  op('Mfcc', np.full([1, 1, 9], -1, F32), I32(8000), types=None, label='negative')
  for label, spectrogram, rate, attrs in (
      ('one_frequency', x[..., :1], 8000, {}), ('no_rate', x, 0, {}), ('rate', x, -1, {}), ('limits', x, 8000, dict(lower_frequency_limit=5000)),
      ('low', x, 8000, dict(lower_frequency_limit=-1)), ('bands', x, 8000, dict(filterbank_channel_count=0)),
      ('negative_bands', x, 8000, dict(filterbank_channel_count=-4)), ('coefficients', x, 8000, dict(dct_coefficient_count=0)),
      ('too_many', x, 8000, dict(dct_coefficient_count=41)), ('rank', x[0], 8000, {}), ('rates', x, [8000], {})):
    op('Mfcc', spectrogram, I32(rate), types=None, label='bad_' + label, error=True, **attrs)
  with script('Mfcc', 'speech_commands') as s:
    contents = tf.constant(wav(header(1, 16000), chunk(b'data', samples(*rng('speech').randint(-9000, 9000, 4000)))))
    audio, rate = apply('DecodeWav', contents=contents, desired_channels=1, desired_samples=4800).outputs
    spectrogram = apply('AudioSpectrogram', input=audio, window_size=480, stride=160, magnitude_squared=True)[0]
    s.run([apply('Mfcc', spectrogram=spectrogram, sample_rate=rate, dct_coefficient_count=40)[0], rate])


def old_summary(label, tag, audio, error=False, **attrs):
  """AudioSummary, which TensorFlow runs in graphs of old versions only."""
  with script('AudioSummary', label, options=('compare_summary',)) as s:
    test_util.set_producer_version(tf.get_default_graph(), 14)
    s.run(apply('AudioSummary', tag=tf.constant(tag), tensor=tf.placeholder_with_default(audio, None), **attrs)[0], error=error)


def summaries():
  sound = np.linspace(-1, 1, 2 * 5 * 2).reshape(2, 5, 2).astype(F32)
  for label, x in (('stereo', sound), ('no_channels', sound[..., 0]), ('none', sound[:0]), ('silence', sound[:, :0])):
    for rate in (8000.0, 8000.7, 0.25):
      old_summary(label, 's', x, sample_rate=rate)
  old_summary('first', 's', sound, sample_rate=1.0, max_outputs=1)
  old_summary('rank', 's', sound[0, 0], sample_rate=1.0, error=True)
  old_summary('channels', 's', sound[..., :0], sample_rate=1.0, error=True)
  old_summary('rate', 's', sound, sample_rate=0.0, error=True)
  op('AudioSummaryV2', S('s'), sound, F32(8000.7), types=None, label='rounded_rate', options=('compare_summary',))
  op('AudioSummaryV2', S('s'), sound, F32([8000]), types=None, label='rate_of_one', unknown=True, options=('compare_summary',))


def writers():
  with script('SummaryWriter', 'media') as s:
    writer = apply('SummaryWriter', shared_name='media')[0]
    logdir = tf.placeholder(tf.string, [])
    common = lambda: dict(writer=writer, step=tf.constant(3, tf.int64), tag=tf.constant('t'))
    histogram = lambda values: apply('WriteHistogramSummary', values=tf.constant(values), **common()).op
    image = lambda x, color=(255, 0, 0, 255), **attrs: apply('WriteImageSummary', tensor=tf.constant(x), bad_color=tf.constant(np.uint8(color)), **common(),
                                                             **attrs).op
    audio = lambda x, rate=8000.0, **attrs: apply('WriteAudioSummary', tensor=tf.constant(x), sample_rate=tf.constant(F32(rate)), **common(), **attrs).op
    s.run(targets=histogram(F32([1])), error=True)
    s.run(targets=apply('CreateSummaryFileWriter', writer=writer, logdir=logdir, max_queue=tf.constant(10), flush_millis=tf.constant(1000),
                        filename_suffix=tf.constant('.v2')).op, feeds={logdir: TEMP_DIR + '/media'})
    for values in ([1.5, 2], np.float64([1]), I32([-1]), np.uint8([1]), np.int64([]), np.float16([2]), np.array([True, False])):
      s.run(targets=histogram(F32(values) if isinstance(values, list) else values))
    s.run(targets=histogram(F32([np.nan])), error=True)
    s.run(targets=histogram(F32([np.inf])), error=True)
    pixels = rng('pixels').uniform(-1, 1, [2, 3, 4, 3])
    for t in (np.float32, np.float64, np.float16, np.uint8):
      s.run(targets=image((pixels * 100).astype(t), max_images=1))
    s.run(targets=image(F32(pixels[..., :2])), error=True)
    s.run(targets=image(F32(pixels[0])), error=True)
    s.run(targets=image(F32(pixels), [255]), error=True)
    s.run(targets=image(F32(pixels), [[255, 0, 0, 0]]), error=True)
    s.run(targets=image(np.uint8(pixels), [1]))
    sound = F32(pixels[0])
    s.run(targets=audio(sound, max_outputs=2))
    s.run(targets=audio(sound[0]))
    s.run(targets=audio(sound, 0), error=True)
    s.run(targets=apply('CloseSummaryWriter', writer=writer).op)


def cases():
  decoding()
  encoding()
  spectrograms()
  fingerprints()
  summaries()
  writers()
