# SPDX-License-Identifier: Apache-2.0
"""Sounds as in the speech commands tutorial: WAV files are written, read, made louder, mixed and turned into fingerprints."""
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import gen_audio_ops as audio_ops
from tensorflow.python.ops import io_ops

if tf.__version__.startswith("1."):
    from tensorflow.contrib.framework.python.ops import audio_ops as contrib_audio
else:
    contrib_audio = audio_ops

RATE = 16000
folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
path = os.path.join(folder, "yes.wav")
sess = tf.Session()
samples = tf.placeholder(tf.float32, [None, 1])
encoded = contrib_audio.encode_wav(samples, RATE)
tone = 0.4 * np.sin(2 * np.pi * 500 * np.arange(4000) / RATE)
with open(path, "wb") as f:
    f.write(sess.run(encoded, {samples: tone.reshape([-1, 1])}))
print("file", os.path.getsize(path), encoded.shape)

loader = io_ops.read_file(path)
decoder = contrib_audio.decode_wav(loader, desired_channels=1, desired_samples=4800)
print(type(decoder).__name__, decoder._fields, decoder.audio.shape, decoder.sample_rate.shape)
louder = tf.multiply(decoder.audio, 1.5)
shifted = tf.slice(tf.pad(louder, [[200, 0], [0, 0]]), [0, 0], [4800, -1])
background = tf.constant(np.random.RandomState(5).uniform(-0.01, 0.01, [4800, 1]).astype(np.float32))
mixed = tf.clip_by_value(tf.add(background, shifted), -1.0, 1.0)
spectrogram = contrib_audio.audio_spectrogram(mixed, window_size=480, stride=160, magnitude_squared=True)
fingerprint = contrib_audio.mfcc(spectrogram, decoder.sample_rate, dct_coefficient_count=20)
print(spectrogram.shape, fingerprint.shape)
s, m, rate = sess.run([spectrogram, fingerprint, decoder.sample_rate])
print("rate", rate, "loudest", np.argmax(s[0], 1)[3:8].tolist(), "of", s.shape)
print("mfcc", np.round(m[0, ::9, :4].astype(np.float64), 2).tolist())
again = tf.audio.decode_wav(tf.audio.encode_wav(mixed, decoder.sample_rate))
print("round trip", np.abs(sess.run(again.audio - mixed)).max() < 1 / 30000.0, sess.run(again.sample_rate))
try:
    sess.run(tf.audio.decode_wav(tf.constant("not a sound")))
except tf.errors.InvalidArgumentError as e:
    print("Header mismatch: Expected RIFF" in e.message)
