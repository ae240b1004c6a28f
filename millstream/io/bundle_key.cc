// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/bundle_key.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

// Integers and strings in a form whose bytes sort like the values.

void AppendUnsigned(uint64_t value, std::string* out) {
  char bytes[8];
  int n = 0;
  for (; value != 0; value >>= 8) bytes[n++] = static_cast<char>(value & 0xff);
  out->push_back(static_cast<char>(n));
  while (n > 0) out->push_back(bytes[--n]);
}

void AppendString(const std::string& text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
    if (c == '\xff') out->push_back('\0');
  }
  out->append("\0\1", 2);
}

// n bytes hold 7n - 1 bits; the first bits of the first two bytes tell n, inverted for negative values.
void AppendSigned(int64_t value, std::string* out) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  int n = 1;
  while (n < 10 && 7 * n - 1 < 64 && (magnitude >> (7 * n - 1)) != 0) ++n;
  std::string bytes(static_cast<size_t>(n), '\0');
  for (int i = 0; i < n; ++i) {
    const int shift = 8 * (n - 1 - i);
    bytes[i] = static_cast<char>(shift >= 64 ? (value < 0 ? 0xff : 0) : (value >> shift) & 0xff);
  }
  const uint16_t header = n >= 10 ? 0xffc0 : static_cast<uint16_t>(0xffff << (16 - n));
  bytes[0] = static_cast<char>(bytes[0] ^ static_cast<char>(header >> 8));
  if (n > 1) bytes[1] = static_cast<char>(bytes[1] ^ static_cast<char>(header & 0xff));
  out->append(bytes);
}

bool ParseExtent(absl::string_view text, TensorSlice::Extent* extent) {
  if (text == "-") return true;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], &extent->start) &&
         absl::SimpleAtoi(parts[1], &extent->length) && extent->start >= 0 && extent->length > 0;
}

}  // namespace

bool TensorSlice::IsFull() const {
  for (const Extent& e : extents)
    if (e.length >= 0) return false;
  return true;
}

StatusOr<Shape> TensorSlice::ShapeIn(const Shape& full) const {
  if (static_cast<int>(extents.size()) != full.rank()) {
    return errors::InvalidArgument("A slice of ", extents.size(), " dimensions does not fit shape ", full.ToString());
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < full.rank(); ++i) {
    const Extent& e = extents[i];
    if (e.length < 0) {
      dims.push_back(full.dim(i));
    } else if (e.start > full.dim(i) || e.length > full.dim(i) - e.start) {
      return errors::InvalidArgument("Slice [", e.start, ", ", e.start, " + ", e.length, ") of dimension ", i,
                                     " is out of bounds of shape ", full.ToString());
    } else {
      dims.push_back(e.length);
    }
  }
  return Shape::Make(dims);
}

Status ParseShapeAndSlice(const std::string& text, Shape* full, TensorSlice* slice, Shape* slice_shape) {
  const auto bad = [&] {
    return errors::InvalidArgument(
        "Expected a space-separated list of dimensions and a slice, e.g. '4 10 0,2:-', got '", text, "'");
  };
  const std::vector<absl::string_view> tokens = absl::StrSplit(text, ' ');
  if (tokens.size() < 2) return bad();
  std::vector<int64_t> dims;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    int64_t d = 0;
    if (!absl::SimpleAtoi(tokens[i], &d)) return bad();
    dims.push_back(d);
  }
  ASSIGN_OR_RETURN(*full, Shape::Make(dims));
  slice->extents.clear();
  for (absl::string_view part : absl::StrSplit(tokens.back(), ':')) {
    TensorSlice::Extent extent;
    if (!ParseExtent(part, &extent)) return bad();
    slice->extents.push_back(extent);
  }
  ASSIGN_OR_RETURN(*slice_shape, slice->ShapeIn(*full));
  return OkStatus();
}

std::string SliceKey(const std::string& name, const TensorSlice& slice) {
  std::string key;
  AppendUnsigned(0, &key);  // no tensor's own name begins so
  AppendString(name, &key);
  AppendUnsigned(slice.extents.size(), &key);
  for (const auto& e : slice.extents) {
    AppendSigned(e.start, &key);
    AppendSigned(e.length, &key);
  }
  return key;
}

}  // namespace millstream
