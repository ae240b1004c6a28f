# SPDX-License-Identifier: Apache-2.0
"""tf.signal, and where contrib had it; tf.audio; linear operators."""
_NAMES = """frame overlap_and_add hann_window hamming_window kaiser_window kaiser_bessel_derived_window vorbis_window stft inverse_stft
    inverse_stft_window_fn dct idct mdct inverse_mdct linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms fftshift
    ifftshift""".split()

EXPORTS = {
    "millstream.ops.signal.signal_ops": " ".join(f"{space}.{n}={n}" for space in ("signal", "contrib.signal") for n in _NAMES) +
    " spectral.dct=dct spectral.idct=idct",
    "millstream.ops.signal.audio_ops": "audio.decode_wav=decode_wav audio.encode_wav=encode_wav",
    "millstream.ops.linalg.linear_operators": " ".join(f"linalg.{n}={n}" for n in """LinearOperator LinearOperatorFullMatrix
        LinearOperatorLowerTriangular LinearOperatorDiag LinearOperatorIdentity LinearOperatorScaledIdentity""".split()),
}
