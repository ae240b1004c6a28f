// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/broadcast.h"

#include <algorithm>
#include <complex>
#include <cstring>

namespace millstream {
namespace {

// Shorter runs are gathered into blocks, longer ones are read in place.
constexpr int64_t kLongRun = 256;

}  // namespace

StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  absl::InlinedVector<int64_t, 8> dims(rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t x = ia < 0 ? 1 : a.dim(ia), y = ib < 0 ? 1 : b.dim(ib);
    if (x != y && x != 1 && y != 1) {
      return errors::InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString());
    }
    dims[i] = x == 1 ? y : x;
  }
  return Shape::Make(std::span<const int64_t>(dims.data(), dims.size()));
}

BroadcastMap::BroadcastMap(const Shape& in, const Shape& out) {
  // From the innermost dimension outwards: neighbours of one kind become one.
  int64_t stride = 1;
  const int missing = out.rank() - in.rank();
  for (int i = out.rank() - 1; i >= 0; --i) {
    const int64_t size = out.dim(i);
    if (size == 1) continue;
    const bool repeated = i < missing || in.dim(i - missing) == 1;
    if (!dims_.empty() && (strides_.back() == 0) == repeated) {
      dims_.back() *= size;
    } else {
      dims_.push_back(size);
      strides_.push_back(repeated ? 0 : stride);
    }
    if (!repeated) stride *= size;
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    strides_.push_back(1);
  }
  std::reverse(dims_.begin(), dims_.end());
  std::reverse(strides_.begin(), strides_.end());
  full_ = dims_.size() == 1 && strides_[0] == 1;
  scalar_ = dims_.size() == 1 && strides_[0] == 0;
}

template <typename U>
void BroadcastMap::ExpandAs(const U* from, int64_t begin, int64_t n, U* to) const {
  const int last = rank() - 1;
  absl::InlinedVector<int64_t, 6> index(dims_.size());
  int64_t rest = begin, offset = 0;
  for (int d = last; d >= 0; --d) {
    index[d] = rest % dims_[d];
    rest /= dims_[d];
    offset += index[d] * strides_[d];
  }
  while (n > 0) {
    const int64_t run = std::min(n, dims_[last] - index[last]);
    if (strides_[last] == 0)
      std::fill_n(to, run, from[offset]);
    else
      std::copy_n(from + offset, run, to);
    to += run;
    n -= run;
    if (n == 0) return;
    offset -= index[last] * strides_[last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      offset += strides_[d];
      if (++index[d] < dims_[d]) break;
      offset -= index[d] * strides_[d];
      index[d] = 0;
    }
  }
}

void BroadcastMap::Expand(const void* from, size_t size, int64_t begin, int64_t n, void* to) const {
  switch (size) {
    case 1:
      return ExpandAs(static_cast<const uint8_t*>(from), begin, n, static_cast<uint8_t*>(to));
    case 2:
      return ExpandAs(static_cast<const uint16_t*>(from), begin, n, static_cast<uint16_t*>(to));
    case 4:
      return ExpandAs(static_cast<const uint32_t*>(from), begin, n, static_cast<uint32_t*>(to));
    case 8:
      return ExpandAs(static_cast<const uint64_t*>(from), begin, n, static_cast<uint64_t*>(to));
    case 16:
      return ExpandAs(static_cast<const std::complex<double>*>(from), begin, n, static_cast<std::complex<double>*>(to));
    default:
      MS_CHECK(false);
  }
}

void FillElements(const void* value, size_t size, int64_t n, void* to) {
  const auto fill = [&](auto element) {
    std::memcpy(&element, value, sizeof(element));
    std::fill_n(static_cast<decltype(element)*>(to), n, element);
  };
  switch (size) {
    case 1:
      return fill(uint8_t{});
    case 2:
      return fill(uint16_t{});
    case 4:
      return fill(uint32_t{});
    case 8:
      return fill(uint64_t{});
    case 16:
      return fill(std::complex<double>{});
    default:
      MS_CHECK(false);
  }
}

int64_t BroadcastMap::Offset(int64_t i) const {
  int64_t offset = 0;
  for (int d = rank() - 1; d >= 0; --d) {
    offset += i % dims_[d] * strides_[d];
    i /= dims_[d];
  }
  return offset;
}

int64_t BroadcastMap::Chunk(int64_t begin, int64_t limit) const {
  if (full_ || scalar_) return limit;
  const int64_t run = inner();
  if (run >= kLongRun) return std::min(limit, run - begin % run);
  return limit >= run ? limit / run * run : limit;
}

// The row from column `phase` on, then what is there again and again, twice as much each time.
void BroadcastReader::RepeatRow(int64_t phase, int64_t n) {
  const auto size = static_cast<int64_t>(size_);
  const int64_t period = map_.inner() * size, skip = phase * size, bytes = n * size;
  auto* to = static_cast<char*>(buffer_);
  int64_t done = std::min(bytes, period);
  const int64_t tail = std::min(done, period - skip);
  std::memcpy(to, from_ + skip, static_cast<size_t>(tail));
  std::memcpy(to + tail, from_, static_cast<size_t>(done - tail));
  while (done < bytes) {
    const int64_t more = std::min(done, bytes - done);
    std::memcpy(to + done, to, static_cast<size_t>(more));
    done += more;
  }
}

const void* BroadcastReader::Read(int64_t begin, int64_t n) {
  if (map_.full()) return from_ + begin * static_cast<int64_t>(size_);
  const int64_t inner = map_.inner();
  int64_t phase = -1;
  if (map_.scalar()) {
    phase = 0;
  } else if (map_.repeats_row()) {
    phase = begin % inner;
    if (phase + n <= inner) return from_ + phase * static_cast<int64_t>(size_);
  } else if (inner >= kLongRun && map_.stride(map_.rank() - 1) == 1 && begin % inner + n <= inner) {
    return from_ + map_.Offset(begin) * static_cast<int64_t>(size_);
  }
  if (phase >= 0 && phase == phase_ && n <= filled_) return buffer_;
  if (map_.repeats_row())
    RepeatRow(phase, n);
  else
    map_.Expand(from_, size_, begin, n, buffer_);
  phase_ = phase;
  filled_ = n;
  return buffer_;
}

}  // namespace millstream
