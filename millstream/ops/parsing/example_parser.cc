// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/example_parser.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "millstream/ops/elements/copy_rows.h"
#include "millstream/ops/parsing/feature_values.h"
#include "millstream/proto/example.pb.h"

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
  Parser(std::span<const std::string> names, bool single) : names_(names), single_(single) {}

  // In blocks on `pool`, each with memory of its own.
  Status Decode(std::span<const std::string> serialized, ThreadPool* pool) {
    constexpr int64_t kBlock = 32;
    constexpr double kNanosecondsPerExample = 700;
    const auto count = static_cast<int64_t>(serialized.size());
    examples_.resize(serialized.size());
    memory_.resize(static_cast<size_t>((count + kBlock - 1) / kBlock));
    std::atomic<int64_t> wrong{count};  // the first one that cannot be parsed
    const auto decode = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        auto& memory = memory_[i / kBlock];
        if (memory == nullptr) memory = std::make_unique<google::protobuf::Arena>();
        examples_[i] = google::protobuf::Arena::CreateMessage<proto::Example>(memory.get());
        if (examples_[i]->ParseFromString(serialized[i])) continue;
        int64_t first = wrong.load();
        while (i < first && !wrong.compare_exchange_weak(first, i)) {
        }
        return;
      }
    };
    if (pool == nullptr) {
      decode(0, count);
    } else {
      pool->ParallelFor(count, kNanosecondsPerExample, decode, kBlock);
    }
    if (wrong == count) return OkStatus();
    return errors::InvalidArgument("Could not parse example input, value: '", serialized[wrong].substr(0, 200), "'");
  }

  Status Dense(const DenseFeature& f, Tensor* out) const {
    const int64_t row = RowSize(f);
    int64_t longest = IsVariable(f) ? 0 : row;
    for (size_t i = 0; i < examples_.size(); ++i) {
      ASSIGN_OR_RETURN(const proto::Feature* feature, Find(i, f.key, f.type));
      if (feature == nullptr) {
        if (!IsVariable(f) && f.default_value.num_elements() == 0 && row != 0) {
          return errors::InvalidArgument("Name: ", NameOf(i), ", Feature: ", f.key, " (data type: ", DTypeName(f.type),
                                         ") is required but could not be found.");
        }
        continue;
      }
      const int64_t n = CountOf(*feature);
      if (IsVariable(f) ? n % std::max<int64_t>(row, 1) != 0 : n != row) {
        return WrongNumber(f, i, n, row);
      }
      longest = std::max(longest, n);
    }
    ASSIGN_OR_RETURN(*out, AllocateDense(f, longest));
    for (size_t i = 0; i < examples_.size(); ++i) {
      ASSIGN_OR_RETURN(const proto::Feature* feature, Find(i, f.key, f.type));
      const int64_t at = static_cast<int64_t>(i) * longest;
      const int64_t n = feature == nullptr ? 0 : CountOf(*feature);
      if (n > 0) CopyValues(*feature, out, at);
      Pad(f, feature == nullptr, n, longest, at, out);
    }
    return OkStatus();
  }

  Status Sparse(const SparseFeature& f, Tensor* indices, Tensor* values, Tensor* shape) const {
    ASSIGN_OR_RETURN(const Counts counts, Count(f.key, f.type));
    const int rank = single_ ? 1 : 2;
    ASSIGN_OR_RETURN(*indices, Tensor::Make(DType::kInt64, Shape({counts.total, rank})));
    ASSIGN_OR_RETURN(*values, Tensor::Make(f.type, Shape({counts.total})));
    int64_t* index = indices->data<int64_t>();
    int64_t at = 0;
    for (size_t i = 0; i < examples_.size(); ++i) {
      ASSIGN_OR_RETURN(const proto::Feature* feature, Find(i, f.key, f.type));
      if (feature == nullptr) continue;
      CopyValues(*feature, values, at);
      at += CountOf(*feature);
      for (int64_t k = 0; k < CountOf(*feature); ++k) {
        if (!single_) *index++ = static_cast<int64_t>(i);
        *index++ = k;
      }
    }
    *shape = single_ ? Tensor::Vector<int64_t>({counts.longest})
                     : Tensor::Vector<int64_t>({static_cast<int64_t>(examples_.size()), counts.longest});
    return OkStatus();
  }

  Status Ragged(const RaggedFeature& f, Tensor* values, Tensor* splits) const {
    ASSIGN_OR_RETURN(const Counts counts, Count(f.key, f.type));
    ASSIGN_OR_RETURN(*values, Tensor::Make(f.type, Shape({counts.total})));
    std::vector<int64_t> ends = {0};
    for (size_t i = 0; i < examples_.size(); ++i) {
      ASSIGN_OR_RETURN(const proto::Feature* feature, Find(i, f.key, f.type));
      if (feature != nullptr) CopyValues(*feature, values, ends.back());
      ends.push_back(ends.back() + (feature == nullptr ? 0 : CountOf(*feature)));
    }
    *splits = f.split_type == DType::kInt64 ? Tensor::Vector(ends)
                                            : Tensor::Vector(std::vector<int32_t>(ends.begin(), ends.end()));
    return OkStatus();
  }

 private:
  struct Counts {
    int64_t total = 0, longest = 0;
  };

  std::string NameOf(size_t i) const { return i < names_.size() && !names_[i].empty() ? names_[i] : "<unknown>"; }

  // Of a dense feature with n values in example i, which should have `row` or a multiple of that.
  Status WrongNumber(const DenseFeature& f, size_t i, int64_t n, int64_t row) const {
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

  // Null if the example has none. InvalidArgument if it is of another type.
  StatusOr<const proto::Feature*> Find(size_t i, const std::string& key, DType type) const {
    const auto& features = examples_[i]->features().feature();
    const auto it = features.find(key);
    if (it == features.end() || it->second.kind_case() == proto::Feature::KIND_NOT_SET) return nullptr;
    if (TypeOf(it->second) != type) {
      return errors::InvalidArgument("Name: ", NameOf(i), ", Key: ", key, ", Index: ", i,
                                     ".  Data types don't match. Expected type: ", DTypeName(type),
                                     " but got type: ", DTypeName(TypeOf(it->second)));
    }
    return &it->second;
  }

  StatusOr<Counts> Count(const std::string& key, DType type) const {
    Counts counts;
    for (size_t i = 0; i < examples_.size(); ++i) {
      ASSIGN_OR_RETURN(const proto::Feature* feature, Find(i, key, type));
      const int64_t n = feature == nullptr ? 0 : CountOf(*feature);
      counts.total += n;
      counts.longest = std::max(counts.longest, n);
    }
    return counts;
  }

  StatusOr<Tensor> AllocateDense(const DenseFeature& f, int64_t longest) const {
    std::vector<int64_t> dims;
    if (!single_) dims.push_back(static_cast<int64_t>(examples_.size()));
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

  const std::span<const std::string> names_;
  const bool single_;
  std::vector<std::unique_ptr<google::protobuf::Arena>> memory_;
  std::vector<proto::Example*> examples_;
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
  Parser parser(names, single);
  RETURN_IF_ERROR(parser.Decode(serialized, pool));
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
