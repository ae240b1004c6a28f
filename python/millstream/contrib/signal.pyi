# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.ops.signal.signal_ops import dct as dct
from millstream.ops.signal.signal_ops import fftshift as fftshift
from millstream.ops.signal.signal_ops import frame as frame
from millstream.ops.signal.signal_ops import hamming_window as hamming_window
from millstream.ops.signal.signal_ops import hann_window as hann_window
from millstream.ops.signal.signal_ops import idct as idct
from millstream.ops.signal.signal_ops import ifftshift as ifftshift
from millstream.ops.signal.signal_ops import inverse_mdct as inverse_mdct
from millstream.ops.signal.signal_ops import inverse_stft as inverse_stft
from millstream.ops.signal.signal_ops import inverse_stft_window_fn as inverse_stft_window_fn
from millstream.ops.signal.signal_ops import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from millstream.ops.signal.signal_ops import kaiser_window as kaiser_window
from millstream.ops.signal.signal_ops import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from millstream.ops.signal.signal_ops import mdct as mdct
from millstream.ops.signal.signal_ops import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from millstream.ops.signal.signal_ops import overlap_and_add as overlap_and_add
from millstream.ops.signal.signal_ops import stft as stft
from millstream.ops.signal.signal_ops import vorbis_window as vorbis_window

__all__ = [
    "dct",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifftshift",
    "inverse_mdct",
    "inverse_stft",
    "inverse_stft_window_fn",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mdct",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "stft",
    "vorbis_window",
]
