# SPDX-License-Identifier: Apache-2.0
"""tf.signal: spectrograms of a sound, mel frequencies and MFCCs, cosine transforms, windows, and back."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
time = np.arange(800) / 8000.0
sound = (np.sin(2 * np.pi * 440 * time) + 0.3 * rng.randn(800)).astype(np.float32)
batch = np.stack([sound, sound[::-1]])
samples = tf.placeholder(tf.float32, [None, None])
spectra = tf.signal.stft(samples, frame_length=100, frame_step=40)
power = tf.abs(spectra)
mel = tf.signal.linear_to_mel_weight_matrix(10, 65, 8000, 80.0, 3600.0)
log_mel = tf.log(tf.tensordot(power, mel, 1) + 1e-6)
mfccs = tf.signal.mfccs_from_log_mel_spectrograms(log_mel)
print(spectra.dtype, spectra.shape, mel.shape, tf.signal.stft(tf.constant(sound), 100, 40, fft_length=256, pad_end=True).shape)
sess = tf.Session()


def show(title, value, feed=None):
    value = np.asarray(sess.run(value, feed))
    print(title, value.shape, np.round(value.astype(np.float64).ravel()[::max(1, value.size // 12)], 4).tolist())


show("power", power, {samples: batch})
show("mel", mel)
show("log mel", log_mel, {samples: batch})
show("mfccs", mfccs[..., :5], {samples: batch})
inverse = tf.signal.inverse_stft(spectra, 100, 40, window_fn=tf.signal.inverse_stft_window_fn(40))
back = sess.run(inverse, {samples: batch})
print(back.shape, np.abs(back[:, 100:700] - batch[:, 100:700]).max() < 1e-4)
show("stft", tf.real(tf.signal.stft(tf.constant(sound), 64, 32, window_fn=tf.signal.hamming_window, pad_end=True)))
show("no window", tf.imag(tf.signal.stft(tf.constant(sound), 64, 64, window_fn=None)))

grid = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 12))
for arguments in ((5, 2), (4, 4), (5, 3, True), (3, 2, True, -1.0), (13, 1)):
    frames = tf.signal.frame(grid, *arguments)
    print(arguments, frames.shape, sess.run(frames).tolist())
print(sess.run(tf.signal.frame(grid, 1, 1, axis=0)).shape, sess.run(tf.signal.frame(tf.constant(np.arange(6.0).reshape(6, 1)), 2, 3, axis=0)).tolist())
pieces = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
for step in (1, 2, 4, 5):
    added = tf.signal.overlap_and_add(pieces, step)
    print(step, added.shape, sess.run(added).tolist())
print(sess.run(tf.gradients(tf.reduce_sum(tf.square(tf.signal.overlap_and_add(pieces, 2))), pieces)[0])[0].tolist())

for n in (1, 2, 7, 8):
    show("hann", tf.signal.hann_window(n))
    show("hann, symmetric", tf.signal.hann_window(n, periodic=False))
show("hamming", tf.signal.hamming_window(9))
show("kaiser", tf.signal.kaiser_window(9, beta=4.0))
show("derived", tf.signal.kaiser_bessel_derived_window(8))
show("vorbis", tf.signal.vorbis_window(8))
values = tf.constant(rng.randn(2, 9).astype(np.float32))
for kind in (1, 2, 3, 4):
    for norm in (None, "ortho"):
        if kind == 1 and norm:
            continue
        show(f"dct {kind} {norm}", tf.signal.dct(values, type=kind, norm=norm))
        show(f"idct {kind} {norm}", tf.signal.idct(values, type=kind, norm=norm))
show("dct n", tf.signal.dct(values, n=5))
show("dct n", tf.signal.dct(values, n=12, norm="ortho"))
show("gradient", tf.gradients(tf.reduce_sum(tf.square(tf.signal.dct(values, norm="ortho"))), values)[0])
show("mdct", tf.signal.mdct(tf.constant(sound[:64]), 16))
show("inverse mdct", tf.signal.inverse_mdct(tf.signal.mdct(tf.constant(sound[:64]), 16, norm="ortho"), norm="ortho"))
print(sess.run(tf.signal.fftshift(tf.range(5))).tolist(), sess.run(tf.signal.ifftshift(tf.reshape(tf.range(6), [2, 3]), axes=1)).tolist())
for wrong in (lambda: tf.signal.dct(values, type=5), lambda: tf.signal.dct(values, norm="x"), lambda: tf.signal.dct(values, type=1, norm="ortho"),
              lambda: tf.signal.hann_window(4, dtype=tf.int32), lambda: tf.signal.linear_to_mel_weight_matrix(0),
              lambda: tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0), lambda: tf.signal.mdct(values, 6)):
    try:
        wrong()
    except ValueError as e:
        print(str(e)[:50])
