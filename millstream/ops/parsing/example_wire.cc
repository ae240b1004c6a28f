// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/example_wire.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kEndGroup = 4, kFixed32 = 5 };

// Protocol buffers on the wire: fields, each with its number and type before it.
class Wire {
 public:
  explicit Wire(absl::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  int64_t left() const { return end_ - at_; }

  bool Varint(uint64_t* value) {
    if (at_ != end_ && static_cast<signed char>(*at_) >= 0) {
      *value = static_cast<unsigned char>(*at_++);
      return true;
    }
    uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) return false;
      const auto byte = static_cast<unsigned char>(*at_++);
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *value = result;
        return true;
      }
    }
    return false;
  }

  bool Tag(uint32_t* field, uint32_t* type) {
    uint64_t tag = 0;
    if (!Varint(&tag) || tag > UINT32_MAX || tag < 8) return false;
    *field = static_cast<uint32_t>(tag >> 3), *type = static_cast<uint32_t>(tag & 7);
    return true;
  }

  bool Bytes(absl::string_view* bytes) {
    uint64_t size = 0;
    if (!Varint(&size) || size > static_cast<uint64_t>(left())) return false;
    *bytes = absl::string_view(at_, static_cast<size_t>(size));
    at_ += size;
    return true;
  }

  bool Advance(int64_t bytes) {
    if (left() < bytes) return false;
    at_ += bytes;
    return true;
  }

  bool Float(float* value) {
    if (left() < int64_t{sizeof(float)}) return false;
    std::memcpy(value, at_, sizeof(float));
    at_ += sizeof(float);
    return true;
  }

  // What follows a tag that nobody knows.
  bool Skip(uint32_t field, uint32_t type, int depth = 0) {
    constexpr int kMaxDepth = 100;
    uint64_t number = 0;
    absl::string_view bytes;
    switch (type) {
      case kVarint:
        return Varint(&number);
      case kFixed64:
        return Advance(8);
      case kBytes:
        return Bytes(&bytes);
      case kFixed32:
        return Advance(4);
      case kGroup:
        for (uint32_t inner = 0, inner_type = 0; depth < kMaxDepth && Tag(&inner, &inner_type);) {
          if (inner_type == kEndGroup) return inner == field;
          if (!Skip(inner, inner_type, depth + 1)) return false;
        }
        return false;
      default:
        return false;
    }
  }

 private:
  const char* at_;
  const char* end_;
};

// Calls fn(bytes) for each field `wanted` that holds bytes, and skips the others. False if the message ends within a
// field, or fn() is false.
template <typename Fn>
bool ForEachBytes(absl::string_view message, uint32_t wanted, Fn fn) {
  for (Wire wire(message); !wire.done();) {
    uint32_t field = 0, type = 0;
    absl::string_view bytes;
    if (!wire.Tag(&field, &type)) return false;
    if (field != wanted || type != kBytes) {
      if (!wire.Skip(field, type)) return false;
    } else if (!wire.Bytes(&bytes) || !fn(bytes)) {
      return false;
    }
  }
  return true;
}

constexpr uint32_t kValue = 1;  // the field of every list

// Calls packed(bytes) and single(wire) for the values of a list of numbers, which may be of both kinds.
template <typename Packed, typename Single>
bool ForEachPart(absl::string_view list, uint32_t single_type, Packed packed, Single single) {
  for (Wire wire(list); !wire.done();) {
    uint32_t field = 0, type = 0;
    if (!wire.Tag(&field, &type)) return false;
    absl::string_view bytes;
    if (field == kValue && type == kBytes) {
      if (!wire.Bytes(&bytes) || !packed(bytes)) return false;
    } else if (field == kValue && type == single_type) {
      if (!single(wire)) return false;
    } else if (!wire.Skip(field, type)) {
      return false;
    }
  }
  return true;
}

// Varints end with bytes below 128. -1 if one has more bytes than there are in any number.
int64_t CountVarints(absl::string_view bytes) {
  constexpr int64_t kMost = 10;
  int64_t n = 0;
  for (const char c : bytes) n += static_cast<signed char>(c) >= 0 ? 1 : 0;
  if (static_cast<int64_t>(bytes.size()) - n < kMost) return n;
  int64_t continued = 0, longest = 0;
  for (const char c : bytes) {
    continued = static_cast<signed char>(c) >= 0 ? 0 : continued + 1;
    longest = std::max(longest, continued);
  }
  return longest < kMost ? n : -1;
}

// Sets feature->count. False if the list is damaged.
bool Count(WireFeature* feature) {
  int64_t n = 0;
  bool whole = false;
  if (feature->type == DType::kString) {
    whole = ForEachBytes(feature->list, kValue, [&](absl::string_view) { return ++n > 0; });
  } else if (feature->type == DType::kFloat) {
    const auto packed = [&](absl::string_view bytes) {
      n += static_cast<int64_t>(bytes.size() / sizeof(float));
      return bytes.size() % sizeof(float) == 0;
    };
    whole = ForEachPart(feature->list, kFixed32, packed, [&](Wire& wire) { return ++n, wire.Advance(4); });
  } else {
    const auto packed = [&](absl::string_view bytes) {
      const int64_t more = CountVarints(bytes);
      n += more;
      return more >= 0 && (bytes.empty() || static_cast<signed char>(bytes.back()) >= 0);
    };
    uint64_t ignored = 0;
    whole = ForEachPart(feature->list, kVarint, packed, [&](Wire& wire) { return ++n, wire.Varint(&ignored); });
  }
  feature->count = n;
  return whole;
}

bool CopyFloats(absl::string_view list, float* to) {
  const auto packed = [&](absl::string_view bytes) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size() / sizeof(float);
    return true;
  };
  return ForEachPart(list, kFixed32, packed, [&](Wire& wire) { return wire.Float(to++); });
}

bool CopyInts(absl::string_view list, int64_t* to) {
  const auto one = [&](Wire& wire) {
    uint64_t value = 0;
    const bool read = wire.Varint(&value);
    *to++ = static_cast<int64_t>(value);
    return read;
  };
  const auto packed = [&](absl::string_view bytes) {
    for (Wire wire(bytes); !wire.done();) {
      if (!one(wire)) return false;
    }
    return true;
  };
  return ForEachPart(list, kVarint, packed, one);
}

DType TypeOfList(uint32_t field) {
  constexpr DType kTypes[] = {DType::kInvalid, DType::kString, DType::kFloat, DType::kInt64};
  return field < std::size(kTypes) ? kTypes[field] : DType::kInvalid;
}

}  // namespace

bool ExampleReader::Read(absl::string_view serialized, std::span<WireFeature> features) {
  constexpr uint32_t kFeatures = 1;
  std::fill(features.begin(), features.end(), WireFeature());
  next_ = 0;
  return ForEachBytes(serialized, kFeatures, [&](absl::string_view bytes) { return ReadFeatures(bytes, features); });
}

bool ExampleReader::ReadFeatures(absl::string_view bytes, std::span<WireFeature> features) {
  constexpr uint32_t kEntry = 1;
  return ForEachBytes(bytes, kEntry, [&](absl::string_view entry) { return ReadEntry(entry, features); });
}

// Of two entries with one key the last one counts.
bool ExampleReader::ReadEntry(absl::string_view bytes, std::span<WireFeature> features) {
  constexpr uint32_t kKey = 1, kFeature = 2;
  absl::string_view key;
  bool known = false;
  int slot = -1;
  WireFeature feature;
  for (Wire wire(bytes); !wire.done();) {
    uint32_t field = 0, type = 0;
    absl::string_view part;
    if (!wire.Tag(&field, &type)) return false;
    if (type != kBytes || (field != kKey && field != kFeature)) {
      if (!wire.Skip(field, type)) return false;
      continue;
    }
    if (!wire.Bytes(&part)) return false;
    if (field == kKey) {
      key = part, slot = SlotOf(key), known = true;
    } else if ((!known || slot >= 0) && !MergeFeature(part, &feature)) {
      return false;
    }
  }
  if (!known) slot = SlotOf(key);
  if (slot >= 0) features[slot] = feature;
  return true;
}

// The last list counts, with the parts of its type that came before it without another between them.
bool ExampleReader::MergeFeature(absl::string_view bytes, WireFeature* feature) {
  for (Wire wire(bytes); !wire.done();) {
    uint32_t field = 0, type = 0;
    WireFeature part;
    if (!wire.Tag(&field, &type)) return false;
    part.type = TypeOfList(field);
    if (type != kBytes || part.type == DType::kInvalid) {
      if (!wire.Skip(field, type)) return false;
      continue;
    }
    if (!wire.Bytes(&part.list) || !Count(&part)) return false;
    if (feature->type == part.type) {
      part.list = Join(feature->list, part.list);
      part.count += feature->count;
    }
    *feature = part;
  }
  return true;
}

int ExampleReader::SlotOf(absl::string_view key) {
  if (next_ < last_.size() && last_[next_].key == key) return last_[next_++].slot;
  const auto it = slots_.find(key);
  const Entry entry{std::string(key), it == slots_.end() ? -1 : it->second};
  if (next_ < last_.size()) {
    last_[next_] = entry;
  } else {
    last_.push_back(entry);
  }
  ++next_;
  return entry.slot;
}

absl::string_view ExampleReader::Join(absl::string_view first, absl::string_view second) {
  if (first.empty()) return second;
  return joined_.emplace_back(absl::StrCat(first, second));
}

bool CopyValues(const WireFeature& feature, Tensor* to, int64_t offset) {
  if (feature.type == DType::kFloat) return CopyFloats(feature.list, to->data<float>() + offset);
  if (feature.type == DType::kInt64) return CopyInts(feature.list, to->data<int64_t>() + offset);
  std::string* next = to->data<std::string>() + offset;
  return ForEachBytes(feature.list, kValue, [&](absl::string_view value) {
    (next++)->assign(value.data(), value.size());
    return true;
  });
}

}  // namespace millstream
