// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/example_parser.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "millstream/ops/elements/copy_rows.h"
#include "millstream/ops/parsing/example_wire.h"

namespace millstream {
namespace {

bool IsVariable(const DenseFeature& f) { return f.shape.rank() > 0 && f.shape.dim(0) < 0; }

// Values of one row of a dense feature; for variable ones, of one step along the first dimension.
int64_t RowSize(const DenseFeature& f) {
  int64_t n = 1;
  for (int i = IsVariable(f) ? 1 : 0; i < f.shape.rank(); ++i) n *= f.shape.dim(i);
  return n;
}

class Parser {
 public:
  Parser(const ExampleSpec& spec, std::span<const std::string> serialized, std::span<const std::string> names,
         bool single, ThreadPool* pool)
      : serialized_(serialized), names_(names), single_(single), pool_(pool) {
    for (const auto& f : spec.sparse) AddKey(f.key);
    for (const auto& f : spec.dense) AddKey(f.key);
    for (const auto& f : spec.ragged) AddKey(f.key);
  }

  // In blocks on the pool.
  Status Decode() {
    constexpr int64_t kBlock = 32;
    const int64_t count = num_examples();
    features_.resize(serialized_.size() * slots_.size());
    readers_.resize(static_cast<size_t>((count + kBlock - 1) / kBlock));
    return ForExamples(kBlock, [&](int64_t i) {
      auto& reader = readers_[static_cast<size_t>(i / kBlock)];
      if (reader == nullptr) reader = std::make_unique<ExampleReader>(slots_);
      return reader->Read(serialized_[i], std::span(features_).subspan(i * slots_.size(), slots_.size()));
    });
  }

  Status Dense(const DenseFeature& f, Tensor* out) const {
    const int64_t row = RowSize(f);
    const int slot = SlotOf(f.key);
    int64_t longest = IsVariable(f) ? 0 : row;
    for (int64_t i = 0; i < num_examples(); ++i) {
      const WireFeature& feature = At(i, slot);
      if (feature.type == DType::kInvalid) {
        if (!IsVariable(f) && f.default_value.num_elements() == 0 && row != 0) {
          return errors::InvalidArgument("Name: ", NameOf(i), ", Feature: ", f.key, " (data type: ", DTypeName(f.type),
                                         ") is required but could not be found.");
        }
        continue;
      }
      if (feature.type != f.type) return WrongType(f.key, f.type, i, feature.type);
      const int64_t n = feature.count;
      if (IsVariable(f) ? n % std::max<int64_t>(row, 1) != 0 : n != row) {
        return WrongNumber(f, i, n, row);
      }
      longest = std::max(longest, n);
    }
    ASSIGN_OR_RETURN(*out, AllocateDense(f, longest));
    return ForExamples(1, [&, slot](int64_t i) {
      const WireFeature& feature = At(i, slot);
      const bool copied = feature.count == 0 || CopyValues(feature, out, i * longest);
      Pad(f, feature.type == DType::kInvalid, feature.count, longest, i * longest, out);
      return copied;
    });
  }

  Status Sparse(const SparseFeature& f, Tensor* indices, Tensor* values, Tensor* shape) const {
    ASSIGN_OR_RETURN(const Counts counts, Count(f.key, f.type));
    const int rank = single_ ? 1 : 2;
    ASSIGN_OR_RETURN(*indices, Tensor::Make(DType::kInt64, Shape({counts.total(), rank})));
    ASSIGN_OR_RETURN(*values, Tensor::Make(f.type, Shape({counts.total()})));
    int64_t* index = indices->data<int64_t>();
    const int slot = SlotOf(f.key);
    RETURN_IF_ERROR(ForExamples(1, [&, slot](int64_t i) {
      const WireFeature& feature = At(i, slot);
      const int64_t at = counts.ends[i];
      int64_t* next = index + at * rank;
      for (int64_t k = 0; k < feature.count; ++k) {
        if (!single_) *next++ = i;
        *next++ = k;
      }
      return feature.count == 0 || CopyValues(feature, values, at);
    }));
    *shape =
        single_ ? Tensor::Vector<int64_t>({counts.longest}) : Tensor::Vector<int64_t>({num_examples(), counts.longest});
    return OkStatus();
  }

  Status Ragged(const RaggedFeature& f, Tensor* values, Tensor* splits) const {
    ASSIGN_OR_RETURN(const Counts counts, Count(f.key, f.type));
    ASSIGN_OR_RETURN(*values, Tensor::Make(f.type, Shape({counts.total()})));
    const int slot = SlotOf(f.key);
    RETURN_IF_ERROR(ForExamples(
        1, [&, slot](int64_t i) { return At(i, slot).count == 0 || CopyValues(At(i, slot), values, counts.ends[i]); }));
    *splits = f.split_type == DType::kInt64
                  ? Tensor::Vector(counts.ends)
                  : Tensor::Vector(std::vector<int32_t>(counts.ends.begin(), counts.ends.end()));
    return OkStatus();
  }

 private:
  struct Counts {
    std::vector<int64_t> ends = {0};  // values of the examples before each one, and of all
    int64_t longest = 0;
    int64_t total() const { return ends.back(); }
  };

  void AddKey(const std::string& key) { slots_.try_emplace(key, static_cast<int>(slots_.size())); }
  int SlotOf(const std::string& key) const { return slots_.find(key)->second; }
  const WireFeature& At(int64_t i, int slot) const { return features_[static_cast<size_t>(i) * slots_.size() + slot]; }
  int64_t num_examples() const { return static_cast<int64_t>(serialized_.size()); }

  // Calls read(i) for all examples, on the pool in blocks of `align` or more. InvalidArgument for the first one it is
  // false for.
  Status ForExamples(int64_t align, absl::FunctionRef<bool(int64_t)> read) const {
    const int64_t count = num_examples();
    std::atomic<int64_t> wrong{count};
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (read(i)) continue;
        int64_t first = wrong.load();
        while (i < first && !wrong.compare_exchange_weak(first, i)) {
        }
        return;
      }
    };
    if (pool_ == nullptr || count <= align) {
      range(0, count);
    } else {
      const double bytes = static_cast<double>(serialized_[0].size());
      pool_->ParallelFor(count, 20 + 20.0 * static_cast<double>(slots_.size()) + 0.1 * bytes, range, align);
    }
    if (wrong == count) return OkStatus();
    return errors::InvalidArgument("Could not parse example input, value: '", serialized_[wrong].substr(0, 200), "'");
  }

  std::string NameOf(int64_t i) const {
    return i < static_cast<int64_t>(names_.size()) && !names_[i].empty() ? names_[i] : "<unknown>";
  }

  // Of a dense feature with n values in example i, which should have `row` or a multiple of that.
  Status WrongNumber(const DenseFeature& f, int64_t i, int64_t n, int64_t row) const {
    if (single_ && IsVariable(f)) {
      return errors::InvalidArgument("Error while parsing feature with key ", f.key,
                                     ": number of elements should be divisible by ", row, ", found ", n, " instead");
    }
    const std::string place =
        single_ ? absl::StrCat("Key: ", f.key, ".  ", n > row ? "Can't parse serialized Example: " : "")
                : absl::StrCat("Name: ", NameOf(i), ", Key: ", f.key, ", Index: ", i, ".  ");
    const std::string type = f.type == DType::kString ? "bytes" : DTypeName(f.type);
    if (IsVariable(f)) {
      return errors::InvalidArgument(place, "Number of ", type, " values is not a multiple of stride length. Saw ", n,
                                     " values but output shape is: ", f.shape.ToString());
    }
    return errors::InvalidArgument(place, "Number of ", type, " values != expected.  Values size: ", n,
                                   " but output shape: ", f.shape.ToString());
  }

  Status WrongType(const std::string& key, DType expected, int64_t i, DType type) const {
    return errors::InvalidArgument("Name: ", NameOf(i), ", Key: ", key, ", Index: ", i,
                                   ".  Data types don't match. Expected type: ", DTypeName(expected),
                                   " but got type: ", DTypeName(type));
  }

  StatusOr<Counts> Count(const std::string& key, DType type) const {
    Counts counts;
    counts.ends.reserve(serialized_.size() + 1);
    const int slot = SlotOf(key);
    for (int64_t i = 0; i < num_examples(); ++i) {
      const WireFeature& feature = At(i, slot);
      if (feature.type != DType::kInvalid && feature.type != type) return WrongType(key, type, i, feature.type);
      counts.ends.push_back(counts.ends.back() + feature.count);
      counts.longest = std::max(counts.longest, feature.count);
    }
    return counts;
  }

  StatusOr<Tensor> AllocateDense(const DenseFeature& f, int64_t longest) const {
    std::vector<int64_t> dims;
    if (!single_) dims.push_back(num_examples());
    dims.insert(dims.end(), f.shape.dims().begin(), f.shape.dims().end());
    if (IsVariable(f)) dims[single_ ? 0 : 1] = longest / std::max<int64_t>(RowSize(f), 1);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    return Tensor::Make(f.type, shape);
  }

  // Fills [n, longest) of the row at `at`: with the default if the feature was absent, or for variable ones always.
  static void Pad(const DenseFeature& f, bool absent, int64_t n, int64_t longest, int64_t at, Tensor* out) {
    const Tensor& value = f.default_value;
    if (!IsVariable(f)) {
      if (absent && value.num_elements() == longest) CopyElements(value, 0, longest, out, at);
      return;
    }
    if (n == longest) return;
    Tensor zero(f.type, Shape({1}));
    if (DTypeSize(f.type) != 0) std::fill_n(static_cast<char*>(zero.raw()), DTypeSize(f.type), 0);
    const Tensor& with = value.num_elements() == 1 ? value : zero;
    for (int64_t k = n; k < longest; ++k) CopyElements(with, 0, 1, out, at + k);
  }

  const std::span<const std::string> serialized_, names_;
  const bool single_;
  ThreadPool* const pool_;
  ExampleReader::Slots slots_;  // keys are those of the spec
  std::vector<std::unique_ptr<ExampleReader>> readers_;
  std::vector<WireFeature> features_;  // of each example, by slot
};

}  // namespace

Status CheckSpec(const ExampleSpec& spec) {
  for (const DenseFeature& f : spec.dense) {
    if (!f.shape.rank_known()) return errors::InvalidArgument("dense_shapes of '", f.key, "' has unknown rank");
    for (int i = IsVariable(f) ? 1 : 0; i < f.shape.rank(); ++i) {
      if (f.shape.dim(i) < 0)
        return errors::InvalidArgument("dense_shapes of '", f.key,
                                       "': only the first size may be unknown: ", f.shape.ToString());
    }
    const Tensor& value = f.default_value;
    if (!value.IsInitialized() || value.num_elements() == 0) continue;
    if (value.dtype() != f.type)
      return errors::InvalidArgument("dense_defaults of '", f.key, "' has type ", DTypeName(value.dtype()), ", not ",
                                     DTypeName(f.type));
    if (IsVariable(f)) {
      if (value.num_elements() != 1) {
        return errors::InvalidArgument(
            "dense_shape[", f.key, "] is a variable length shape: ", f.shape.ToString(),
            ", therefore "
            "def_value must contain a single element (the padding element).  But its shape is: ",
            value.shape().ToString());
      }
    } else if (!f.shape.IsCompatibleWith(value.shape())) {
      return errors::InvalidArgument("def_value[", f.key, "].shape() == ", value.shape().ToString(),
                                     " is not compatible with dense_shapes_[", f.key, "] == ", f.shape.ToString());
    }
  }
  return OkStatus();
}

StatusOr<ParsedExamples> ParseExamples(const ExampleSpec& spec, std::span<const std::string> serialized,
                                       std::span<const std::string> names, bool single, ThreadPool* pool) {
  Parser parser(spec, serialized, names, single, pool);
  RETURN_IF_ERROR(parser.Decode());
  ParsedExamples out;
  for (const SparseFeature& f : spec.sparse) {
    RETURN_IF_ERROR(parser.Sparse(f, &out.sparse_indices.emplace_back(), &out.sparse_values.emplace_back(),
                                  &out.sparse_shapes.emplace_back()));
  }
  for (const DenseFeature& f : spec.dense) RETURN_IF_ERROR(parser.Dense(f, &out.dense_values.emplace_back()));
  for (const RaggedFeature& f : spec.ragged) {
    RETURN_IF_ERROR(parser.Ragged(f, &out.ragged_values.emplace_back(), &out.ragged_splits.emplace_back()));
  }
  return out;
}

}  // namespace millstream
