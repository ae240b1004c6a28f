# SPDX-License-Identifier: Apache-2.0
"""tf.signal: frames, windows, transforms over short times, cosine transforms, mel frequencies."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops, tensor_util
from millstream.ops import plain_ops
from millstream.ops.array import array_ops, index_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike, TensorLike
    from millstream.framework.tensor import Tensor


def _number(value, name):
    """(the int if it is known while the graph is built, else None; the tensor)."""
    tensor = ops.convert_to_tensor(value, name=name)
    tensor.shape.assert_has_rank(0)
    known = tensor_util.constant_value(tensor)
    return None if known is None else int(known), tensor


def frame(signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0, axis: Any = -1,
          name: Optional[str] = None) -> Tensor:
    """Pieces of `frame_length` along an axis, each `frame_step` after the last: the axis becomes [frames, frame_length]."""
    with ops.name_scope(name, "frame", [signal, frame_length, frame_step]):
        signal = ops.convert_to_tensor(signal, name="signal")
        known_length, length = _number(frame_length, "frame_length")
        known_step, step = _number(frame_step, "frame_step")
        rank = signal.shape.with_rank_at_least(1).rank
        if rank is None:
            raise ValueError("The rank of the signal must be known")
        axis = axis % rank
        samples = signal.shape.as_list()[axis]
        count = samples if samples is not None else array_ops.shape(signal)[axis]
        if pad_end:
            frames = -(-count // (known_step or step))
            missing = gen_ops.maximum(0, (frames - 1) * step + length - count)
            before, after = np.zeros([axis, 2], np.int32), np.zeros([rank - axis - 1, 2], np.int32)
            signal = array_ops.pad(signal, array_ops.concat([before, [array_ops.stack([0, missing])], after], 0),
                                   constant_values=pad_value)
        elif known_length and known_step and samples is not None:
            frames = max(0, 1 + (samples - known_length) // known_step)
        else:
            frames = gen_ops.maximum(0, 1 + (count - length) // step)
        positions = array_ops.expand_dims(math_ops.range(frames) * step, 1) + array_ops.expand_dims(math_ops.range(length), 0)
        result = index_ops.gather(signal, positions, axis=axis)
        shape = signal.shape.as_list()
        result.set_shape(shape[:axis] + [frames if isinstance(frames, int) else None, known_length] + shape[axis + 1:])
        return result


def overlap_and_add(signal: Any, frame_step: Any, name: Optional[str] = None) -> Any:
    """The opposite of frame(): [..., frames, length] added up where they overlap."""
    with ops.name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = ops.convert_to_tensor(signal, name="signal")
        step = ops.convert_to_tensor(frame_step, name="frame_step")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        known_step, step = _number(step, "frame_step")
        rank = signal.shape.with_rank_at_least(2).rank
        sizes = array_ops.shape(signal)
        frames, length = sizes[-2], sizes[-1]
        positions = array_ops.expand_dims(math_ops.range(frames) * step, 1) + array_ops.expand_dims(math_ops.range(length), 0)
        total = length + step * (frames - 1)
        inner = array_ops.transpose(signal, [rank - 2, rank - 1] + list(range(rank - 2)))
        out = array_ops.transpose(gen_ops.unsorted_segment_sum(inner, positions, total), list(range(1, rank - 1)) + [0])
        known = signal.shape.as_list()
        size = None if None in (known[-2], known[-1], known_step) else known[-1] + known_step * (known[-2] - 1)
        out.set_shape(known[:-2] + [size])
        return out


def _raised_cosine(name, default, window_length, periodic, dtype, a, b):
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with ops.name_scope(name, default, [window_length]):
        known, length = _number(window_length, "window_length")
        if known == 1:
            return array_ops.ones([1], dtype)
        last = length - 1
        if periodic is not False:
            last = last + math_ops.cast(periodic, dtypes.int32) * (1 - math_ops.mod(length, 2))
        angle = 2 * math.pi * math_ops.cast(math_ops.range(length), dtype) / math_ops.cast(last, dtype)
        window = a - b * gen_ops.cos(angle)
        if known is not None:
            return window
        return control_flow_ops.cond(gen_ops.equal(length, 1), lambda: array_ops.ones(array_ops.stack([length]), dtype), lambda: window)


def hann_window(window_length: Any, periodic: bool = True, dtype: DTypeLike = dtypes.float32,
                name: Optional[str] = None) -> Tensor:
    """Returns the Hann window, a raised cosine, of the given length; `periodic` makes it fit for overlapping frames."""
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length: Any, periodic: bool = True, dtype: DTypeLike = dtypes.float32,
                   name: Optional[str] = None) -> Any:
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def kaiser_window(window_length: Any, beta: Any = 12.0, dtype: DTypeLike = dtypes.float32, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "kaiser_window"):
        known, length = _number(window_length, "window_length")
        if known == 1:
            return array_ops.ones([1], dtype)
        half = (math_ops.cast(length, dtype) - 1.0) / 2.0
        place = (math_ops.cast(math_ops.range(length), dtype) - half) / half
        beta = math_ops.cast(beta, dtype)
        x = beta * gen_ops.sqrt(gen_ops.relu(1.0 - gen_ops.square(place)))
        return gen_ops.exp(x - beta) * (gen_ops.bessel_i0e(x) / gen_ops.bessel_i0e(beta))


def kaiser_bessel_derived_window(window_length: Any, beta: Any = 12.0, dtype: DTypeLike = dtypes.float32,
                                 name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "kaiser_bessel_derived_window"):
        sums = math_ops.cumsum(kaiser_window(window_length // 2 + 1, beta, dtype))
        half = gen_ops.sqrt(sums[:-1] / sums[-1])
        return array_ops.concat([half, half[::-1]], 0)


def vorbis_window(window_length: Any, dtype: DTypeLike = dtypes.float32, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "vorbis_window"):
        _, length = _number(window_length, "window_length")
        angle = math.pi / math_ops.cast(length, dtype) * (math_ops.cast(math_ops.range(length), dtype) + 0.5)
        return gen_ops.sin(math.pi / 2.0 * gen_ops.square(gen_ops.sin(angle)))


def _next_power_of_two(length):
    known, tensor = _number(length, "frame_length")
    if known is not None:
        return 1 << max(known - 1, 0).bit_length()
    power = gen_ops.ceil(gen_ops.log(math_ops.cast(tensor, dtypes.float32)) / math.log(2.0))
    return math_ops.cast(gen_ops.pow(2.0, power), tensor.dtype)


def stft(signals: Any, frame_length: Any, frame_step: Any, fft_length: Any = None, window_fn: Any = hann_window,
         pad_end: bool = False, name: Optional[str] = None) -> Tensor:
    """The spectra of windowed frames: [..., frames, fft_length // 2 + 1], complex."""
    with ops.name_scope(name, "stft", [signals]):
        frames = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype)
        return plain_ops.rfft(frames, [_next_power_of_two(frame_length) if fft_length is None else fft_length])


def inverse_stft_window_fn(frame_step: Any, forward_window_fn: Any = hann_window, name: Optional[str] = None) -> Any:
    """The window with which inverse_stft() gives back what stft() was given."""
    def inner(frame_length, dtype):
        with ops.name_scope(name, "inverse_stft_window_fn"):
            forward = forward_window_fn(frame_length, dtype=dtype)
            times = -(-frame_length // frame_step)
            squares = array_ops.pad(gen_ops.square(forward), [[0, times * frame_step - frame_length]])
            sums = reduce_ops.reduce_sum(array_ops.reshape(squares, array_ops.stack([times, frame_step])), 0, keepdims=True)
            each = array_ops.reshape(gen_ops.tile(sums, array_ops.stack([times, 1])), [-1])[:frame_length]
            return math_ops.div_no_nan(forward, each)
    return inner


def inverse_stft(stfts: Any, frame_length: Any, frame_step: Any, fft_length: Any = None, window_fn: Any = hann_window,
                 name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "inverse_stft", [stfts]):
        stfts = ops.convert_to_tensor(stfts, name="stfts")
        size = _next_power_of_two(frame_length) if fft_length is None else fft_length
        frames = plain_ops.irfft(stfts, [size])[..., :frame_length]
        rank = frames.shape.rank
        missing = gen_ops.maximum(0, frame_length - array_ops.shape(frames)[-1])
        frames = array_ops.pad(frames, array_ops.concat([np.zeros([rank - 1, 2], np.int32), [array_ops.stack([0, missing])]], 0))
        frames.set_shape(stfts.shape.as_list()[:-1] + [_number(frame_length, "frame_length")[0]])
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, frame_step)


def _check_dct(x, kind, n, axis, norm):
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if kind == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if kind == 1 and x.shape.as_list()[-1] is not None and x.shape.as_list()[-1] < 2:
        raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _first_differs(first, rest, size, dtype):
    """[first, rest, rest, ...]"""
    return array_ops.concat([array_ops.reshape(math_ops.cast(first, dtype), [1]),
                             gen_ops.fill(array_ops.stack([size - 1]), math_ops.cast(rest, dtype))], 0)


def _turned(sign, size, dtype):
    """2 exp(sign i pi k / (2 n)) for each k."""
    angle = sign * math.pi * 0.5 * math_ops.cast(math_ops.range(size), dtype) / math_ops.cast(size, dtype)
    return math_ops.complex(2.0 * gen_ops.cos(angle), 2.0 * gen_ops.sin(angle))


def _dct(x, kind, n, norm):
    if n is not None:
        have = x.shape.as_list()[-1]
        have = array_ops.shape(x)[-1] if have is None else have
        rows = [[0, 0]] * (x.shape.rank - 1)
        known = x.shape.as_list()[:-1]
        x = array_ops.pad(x[..., :n], array_ops.stack([*rows, array_ops.stack([0, gen_ops.maximum(0, n - have)])]))
        x.set_shape(known + [n if isinstance(n, int) else None])
    size = x.shape.as_list()[-1]
    size = array_ops.shape(x)[-1] if size is None else size
    real_size = math_ops.cast(size, x.dtype)
    if kind == 1:
        return math_ops.real(plain_ops.rfft(array_ops.concat([x, x[..., -2:0:-1]], -1), [2 * size - 2]))
    if kind == 2:
        out = math_ops.real(plain_ops.rfft(x, [2 * size])[..., :size] * _turned(-1.0, size, x.dtype))
        root = gen_ops.rsqrt(real_size)
        return out if norm is None else out * _first_differs(0.5 * root, math.sqrt(0.5) * root, size, x.dtype)
    if kind == 3:
        root = gen_ops.sqrt(real_size)
        x = x * real_size if norm is None else x * _first_differs(root, math.sqrt(0.5) * root, size, x.dtype)
        turned = _turned(1.0, size, x.dtype) * math_ops.complex(x, array_ops.zeros_like(x))
        return plain_ops.irfft(turned, [2 * size])[..., :size]
    out = _dct(x, 2, 2 * size, None)[..., 1::2]
    return out if norm is None else out * (math.sqrt(0.5) * gen_ops.rsqrt(real_size))


def dct(input: Any, type: Any = 2, n: Any = None, axis: Any = -1, norm: Any = None, name: Optional[str] = None) -> Tensor:  # pylint: disable=redefined-builtin
    """The discrete cosine transform of the last axis, as SciPy defines its types."""
    with ops.name_scope(name, "dct", [input]):
        x = ops.convert_to_tensor(input)
        _check_dct(x, type, n, axis, norm)
        return _dct(x, type, n, norm)


def idct(input: Any, type: Any = 2, n: Any = None, axis: Any = -1, norm: Any = None, name: Optional[str] = None) -> Any:  # pylint: disable=redefined-builtin
    """Its inverse, but for a factor where norm is None."""
    with ops.name_scope(name, "idct", [input]):
        x = ops.convert_to_tensor(input)
        _check_dct(x, type, n, axis, norm)
        return _dct(x, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, norm)


def mdct(signals: Any, frame_length: Any, window_fn: Any = vorbis_window, pad_end: bool = False, norm: Any = None,
         name: Optional[str] = None) -> Tensor:
    """The modified cosine transform of frames that overlap by half."""
    with ops.name_scope(name, "mdct", [signals]):
        known, length = _number(frame_length, "frame_length")
        if known is not None and known % 4:
            raise ValueError("The frame length must be a multiple of 4.")
        frames = frame(signals, frame_length, length // 2 if known is None else known // 2, pad_end=pad_end)
        frames = frames * (math.sqrt(0.5) if window_fn is None else window_fn(frame_length, dtype=frames.dtype))
        a, b, c, d = array_ops.split(frames, 4, axis=-1)
        folded = array_ops.concat([-array_ops.reverse(c, [-1]) - d, a - array_ops.reverse(b, [-1])], -1)
        return dct(folded, type=4, norm=norm)


def inverse_mdct(mdcts: Any, window_fn: Any = vorbis_window, norm: Any = None, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "inverse_mdct", [mdcts]):
        mdcts = ops.convert_to_tensor(mdcts, name="mdcts")
        half = mdcts.shape.as_list()[-1]
        values = dct(mdcts, type=4, norm=norm) * (1.0 if norm == "ortho" else 0.5 / half)
        a, b = array_ops.split(values, 2, axis=-1)
        frames = array_ops.concat([b, -array_ops.reverse(b, [-1]), -array_ops.reverse(a, [-1]), -a], -1)
        frames = frames * (math.sqrt(0.5) if window_fn is None else window_fn(2 * half, dtype=mdcts.dtype))
        return overlap_and_add(frames, half)


def _mel(hertz):
    return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)


def linear_to_mel_weight_matrix(num_mel_bins: Any = 20, num_spectrogram_bins: Any = 129, sample_rate: Any = 8000,
                                lower_edge_hertz: Any = 125.0, upper_edge_hertz: Any = 3800.0, dtype: Any = dtypes.float32,
                                name: Optional[str] = None) -> Tensor:
    """Returns a matrix that turns spectra into mel spectra. Its columns are triangles over the spectrum, equally wide in mel."""
    with ops.name_scope(name, "linear_to_mel_weight_matrix") as scope:
        if isinstance(sample_rate, ops.Tensor):
            sample_rate = tensor_util.constant_value(sample_rate)
            if sample_rate is None:
                raise ValueError("sample_rate must be known when the graph is built")
        for wrong, text in ((num_mel_bins <= 0, f"num_mel_bins must be positive. Got: {num_mel_bins}"),
                            (lower_edge_hertz < 0.0, f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}"),
                            (lower_edge_hertz >= upper_edge_hertz,
                             f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}"),
                            (sample_rate <= 0.0, f"sample_rate must be positive. Got: {sample_rate}"),
                            (upper_edge_hertz > sample_rate / 2, "upper_edge_hertz must not be larger than the Nyquist frequency "
                             f"(sample_rate / 2). Got {upper_edge_hertz} for sample_rate: {sample_rate}"),
                            (not dtype.is_floating, f"dtype must be a floating point type. Got: {dtype}")):
            if wrong:
                raise ValueError(text)
        bins = _mel(np.linspace(0.0, sample_rate / 2.0, num_spectrogram_bins)[1:])[:, None]
        edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
        low, center, high = edges[None, :-2], edges[None, 1:-1], edges[None, 2:]
        weights = np.maximum(0.0, np.minimum((bins - low) / (center - low), (high - bins) / (high - center)))
        from millstream.framework import constant_op
        return constant_op.constant(np.pad(weights, [[1, 0], [0, 0]]), dtype=dtype, name=ops.name_from_scope_name(scope))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = ops.convert_to_tensor(log_mel_spectrograms)
        count = x.shape.as_list()[-1]
        if count == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        count = array_ops.shape(x)[-1] if count is None else count
        return dct(x, type=2) * gen_ops.rsqrt(math_ops.cast(count, x.dtype) * 2.0)


def _shift(x, axes, way, default, name):
    with ops.name_scope(name, default, [x]):
        x = ops.convert_to_tensor(x)
        axes = list(range(x.shape.rank)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
        sizes = array_ops.shape(x)
        shifts = [sizes[a] // 2 if way > 0 else -(sizes[a] // 2) for a in axes]
        return index_ops.roll(x, array_ops.stack(shifts), axes)


def fftshift(x: TensorLike, axes: Any = None, name: Optional[str] = None) -> Any:
    return _shift(x, axes, 1, "fftshift", name)


def ifftshift(x: TensorLike, axes: Any = None, name: Optional[str] = None) -> Any:
    return _shift(x, axes, -1, "ifftshift", name)
