// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_PARSING_EXAMPLE_WIRE_H_
#define MILLSTREAM_OPS_PARSING_EXAMPLE_WIRE_H_

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// A feature of a serialized Example. Its values stay as they were serialized until they are copied.
struct WireFeature {
  DType type = DType::kInvalid;  // kInvalid: the example has no such feature, or one without a list
  int64_t count = 0;             // values
  absl::string_view list;        // a serialized BytesList, FloatList or Int64List
};

// Finds the features of some keys in serialized Examples, without making messages of the others. What protocol buffers
// merge (parts that come twice) is merged here too. One for each thread; all of them may share `slots`.
class ExampleReader {
 public:
  // A number for each key that is wanted.
  using Slots = absl::flat_hash_map<absl::string_view, int>;

  // REQUIRES: `slots` outlives this object.
  explicit ExampleReader(const Slots& slots) : slots_(slots) {}

  // Writes the feature of each slot; views are of `serialized`, or live as long as this reader. False if it is no
  // Example, as far as it was looked at: features that nobody wants are skipped.
  bool Read(absl::string_view serialized, std::span<WireFeature> features);

 private:
  struct Entry {
    std::string key;
    int slot;  // -1: not wanted
  };

  bool ReadFeatures(absl::string_view bytes, std::span<WireFeature> features);
  bool ReadEntry(absl::string_view bytes, std::span<WireFeature> features);
  bool MergeFeature(absl::string_view bytes, WireFeature* feature);
  int SlotOf(absl::string_view key);
  absl::string_view Join(absl::string_view first, absl::string_view second);

  const Slots& slots_;
  // Keys in the order of the example before: most files have them in the same one.
  std::vector<Entry> last_;
  size_t next_ = 0;
  std::deque<std::string> joined_;
};

// Copies the values to `to` from element `offset` on. False if they cannot be read. REQUIRES: the types are the same;
// there is room.
bool CopyValues(const WireFeature& feature, Tensor* to, int64_t offset);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_PARSING_EXAMPLE_WIRE_H_
