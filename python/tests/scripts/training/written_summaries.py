# SPDX-License-Identifier: Apache-2.0
"""Histograms, images and sounds in event files that the graph writes itself, read back."""
import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
rng = np.random.RandomState(11)
writer = tf.raw_ops.SummaryWriter(shared_name="", container="")
step = tf.constant(7, tf.int64)
values = tf.placeholder(tf.float32)
pixels = tf.placeholder(tf.float32)
sounds = tf.placeholder(tf.float32)
create = tf.raw_ops.CreateSummaryFileWriter(writer=writer, logdir=folder, max_queue=10, flush_millis=1000, filename_suffix=".v2")
histogram = tf.raw_ops.WriteHistogramSummary(writer=writer, step=step, tag="h", values=values)
bools = tf.raw_ops.WriteHistogramSummary(writer=writer, step=step, tag="b", values=tf.constant([True, False, True]))
image = tf.raw_ops.WriteImageSummary(writer=writer, step=step, tag="i", tensor=pixels, max_images=2,
                                     bad_color=tf.constant([255, 0, 0, 255], tf.uint8))
audio = tf.raw_ops.WriteAudioSummary(writer=writer, step=step, tag="a", tensor=sounds, sample_rate=8000.7, max_outputs=1)
close = tf.raw_ops.CloseSummaryWriter(writer=writer)

sess = tf.Session()
sess.run(create)
sess.run(histogram, {values: np.concatenate([rng.randn(40), [0, 0, -3e5]])})
sess.run(bools)
x = rng.uniform(-1, 2, [3, 4, 5, 3])
x[1, 2, 3] = np.nan
sess.run(image, {pixels: x})
sess.run(audio, {sounds: rng.uniform(-1.2, 1.2, [2, 50, 2])})
sess.run(close)
try:
    sess.run(bools)
except tf.errors.OpError as e:
    print(type(e).__name__)

png = tf.placeholder(tf.string)
decoded = tf.image.decode_png(png)
wav = tf.placeholder(tf.string)
audio_back, rate = tf.audio.decode_wav(wav)
files = glob.glob(os.path.join(folder, "*.v2"))
print("files", len(files))
for event in tf.train.summary_iterator(files[0]):
    for v in event.summary.value:
        print(event.step, v.tag, v.WhichOneof("value"))
        if v.HasField("histo"):
            h = v.histo
            print(h.min, h.max, h.num, round(h.sum, 3), len(h.bucket), sum(h.bucket), [round(b, 4) for b in h.bucket_limit[:3]])
        if v.HasField("image"):
            out = sess.run(decoded, {png: v.image.encoded_image_string})
            print(v.image.height, v.image.width, v.image.colorspace, out.shape, out[2, 3].tolist(), out[0].ravel().tolist())
        if v.HasField("audio"):
            out, r = sess.run([audio_back, rate], {wav: v.audio.encoded_audio_string})
            print(round(v.audio.sample_rate, 2), v.audio.num_channels, v.audio.length_frames, v.audio.content_type, r, out.shape)
            print(np.round(out[:6].astype(np.float64), 4).tolist())
