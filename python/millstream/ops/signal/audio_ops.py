# SPDX-License-Identifier: Apache-2.0
"""tf.audio, and tf.contrib.framework.python.ops.audio_ops: WAV files, spectrograms and MFCCs."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops

if TYPE_CHECKING:
    from typing import Any, Optional
    from millstream.gen_ops import DecodeWav


def decode_wav(contents: Any, desired_channels: Any = -1, desired_samples: Any = -1, name: Optional[str] = None) -> DecodeWav:
    """Returns (audio, sample_rate) of a WAV file with 16-bit samples; audio is [samples, channels], from -1 to 1."""
    return gen_ops.decode_wav(contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name)


def encode_wav(audio: Any, sample_rate: Any, name: Optional[str] = None) -> Any:
    """A WAV file of samples [samples, channels] from -1 to 1."""
    return gen_ops.encode_wav(audio, sample_rate, name=name)


def audio_spectrogram(input, window_size, stride, magnitude_squared=False, name=None):
    """How strong each frequency is in windows of sounds [samples, channels]: [channels, windows, frequencies]."""
    return gen_ops.audio_spectrogram(input, window_size=window_size, stride=stride, magnitude_squared=magnitude_squared, name=name)


def mfcc(spectrogram, sample_rate, upper_frequency_limit=4000, lower_frequency_limit=20, filterbank_channel_count=40,
         dct_coefficient_count=13, name=None):
    """Mel frequency cepstral coefficients of a spectrogram of squared magnitudes."""
    return gen_ops.mfcc(spectrogram, sample_rate, upper_frequency_limit=upper_frequency_limit,
                        lower_frequency_limit=lower_frequency_limit, filterbank_channel_count=filterbank_channel_count,
                        dct_coefficient_count=dct_coefficient_count, name=name)
