// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>
#include <vector>

#include "absl/strings/str_split.h"
#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/bundle_reader.h"

// Starting a model from the checkpoint of one with another vocabulary.
namespace millstream {
namespace {

// The first `limit` lines (all, if negative) of the file that a scalar input names.
StatusOr<std::vector<std::string>> ReadVocabulary(const ResourceManager* resources, const Tensor& input,
                                                  const char* name, int64_t limit) {
  if (input.rank() != 0) {
    return errors::InvalidArgument(name, " should be a single string, but got ", input.shape().ToString());
  }
  const std::string& path = input.scalar<std::string>();
  if (path.empty()) return errors::InvalidArgument(name, " cannot be empty.");
  ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, path));
  ASSIGN_OR_RETURN(std::string text, ReadFile(confined));
  if (!text.empty() && text.back() == '\n') text.pop_back();
  std::vector<std::string> lines;
  if (!text.empty()) lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines)
    if (!line.empty() && line.back() == '\r') line.pop_back();
  const auto count = static_cast<int64_t>(lines.size());
  if (limit > count) {
    return errors::InvalidArgument("Invalid vocab_size in ", path, ": expected ", limit, " but got ", count);
  }
  if (limit >= 0) lines.resize(static_cast<size_t>(limit));
  return lines;
}

class GenerateVocabRemapping final : public Kernel {
 public:
  explicit GenerateVocabRemapping(KernelInit& init)
      : offset_(init.Attr<int64_t>("new_vocab_offset")),
        count_(init.Attr<int64_t>("num_new_vocab")),
        old_size_(init.Attr<int64_t>("old_vocab_size")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::vector<std::string> now,
                     ReadVocabulary(ctx.resources(), ctx.input(0), "new_vocab_file", -1));
    const auto size = static_cast<int64_t>(now.size());
    if (offset_ > size || count_ > size - offset_) {
      return errors::InvalidArgument("lookup table size must be larger than last new vocab entry's line");
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> old,
                     ReadVocabulary(ctx.resources(), ctx.input(1), "old_vocab_file", old_size_));
    std::unordered_map<std::string, int64_t> ids;
    for (size_t i = 0; i < old.size(); ++i) {
      if (!ids.emplace(old[i], static_cast<int64_t>(i)).second) {
        return errors::InvalidArgument("The old vocabulary has '", old[i], "' twice");
      }
    }
    ASSIGN_OR_RETURN(Tensor * remapping, ctx.AllocateOutput(0, Shape({count_})));
    int32_t present = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const auto found = ids.find(now[offset_ + i]);
      remapping->data<int64_t>()[i] = found == ids.end() ? -1 : found->second;
      if (found != ids.end()) ++present;
    }
    ctx.set_output(1, Tensor::Scalar(present));
    return OkStatus();
  }

 private:
  const int64_t offset_, count_, old_size_;
};

// Where the rows (or columns) of the old matrix go: new index -> old one, negative for none.
class Remapping {
 public:
  // `what` is "Row" or "Col". InvalidArgument for an index outside of `old_size`; Unimplemented for one that occurs
  // twice.
  static StatusOr<Remapping> Make(const Tensor& remapping, const char* what, int64_t old_size) {
    Remapping r;
    std::unordered_map<int64_t, int64_t> used;
    for (const int64_t old : remapping.flat<int64_t>()) {
      const auto at = static_cast<int64_t>(r.old_.size());
      r.old_.push_back(old);
      if (old < 0) continue;
      if (old >= old_size) {
        return errors::InvalidArgument(what, " remapping index ", old, " is out of bounds for old tensor with ",
                                       old_size, what[0] == 'R' ? " rows." : " columns.");
      }
      if (const auto [it, fresh] = used.emplace(old, at); !fresh) {
        return errors::Unimplemented("Old ID ", old, " is mapped to both new ID ", it->second, " and ", at,
                                     ", which is not supported.");
      }
    }
    return r;
  }
  static Remapping Identity(int64_t size) {
    Remapping r;
    for (int64_t i = 0; i < size; ++i) r.old_.push_back(i);
    return r;
  }
  int64_t size() const { return static_cast<int64_t>(old_.size()); }
  int64_t old(int64_t i) const { return old_[i]; }

 private:
  std::vector<int64_t> old_;
};

class LoadAndRemapMatrix final : public Kernel {
 public:
  explicit LoadAndRemapMatrix(KernelInit& init)
      : rows_(init.Attr<int64_t>("num_rows")), cols_(init.Attr<int64_t>("num_cols")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &row_map = ctx.input(2), &col_map = ctx.input(3);
    for (const Tensor* map : {&row_map, &col_map}) {
      if (map->rank() == 1) continue;
      return errors::InvalidArgument(map == &row_map ? "row_remapping" : "col_remapping", " tensor must be 1-D, got ",
                                     map->shape().ToString());
    }
    if (row_map.dim(0) != rows_) {
      return errors::InvalidArgument("Size of row_remapping is ", row_map.num_elements(),
                                     " instead of being equal to num_rows=", rows_);
    }
    const bool remap_cols = col_map.num_elements() > 0;
    if (remap_cols && col_map.dim(0) != cols_) {
      return errors::InvalidArgument("Provided col_remapping, but its size is ", col_map.num_elements(),
                                     " instead of being equal to num_cols=", cols_);
    }
    ASSIGN_OR_RETURN(const Tensor matrix, Load(ctx));
    if (!remap_cols && matrix.dim(1) != cols_) {
      return errors::InvalidArgument("The size of the 2nd dimension is ", matrix.dim(1),
                                     " instead of being equal to num_cols=", cols_);
    }
    ASSIGN_OR_RETURN(const Remapping rows, Remapping::Make(row_map, "Row", matrix.dim(0)));
    Remapping cols = Remapping::Identity(remap_cols ? 0 : cols_);
    if (remap_cols) {
      ASSIGN_OR_RETURN(cols, Remapping::Make(col_map, "Col", matrix.dim(1)));
    }
    return Fill(ctx, matrix, rows, cols);
  }

 private:
  static StatusOr<Tensor> Load(const KernelContext& ctx) {
    for (int i = 0; i < 2; ++i) {
      if (ctx.input(i).num_elements() == 1) continue;
      return errors::InvalidArgument("The `", i == 0 ? "ckpt_path" : "old_tensor_name",
                                     "` tensor must have exactly one element, got tensor of shape ",
                                     ctx.input(i).shape().ToString());
    }
    const std::string& name = ctx.input(1).data<std::string>()[0];
    ASSIGN_OR_RETURN(const std::string prefix, ConfinedPath(ctx.resources(), ctx.input(0).data<std::string>()[0]));
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(prefix));
    DType dtype;
    Shape shape;
    RETURN_IF_ERROR(reader->Lookup(name, &dtype, &shape));
    if (dtype != DType::kFloat) {
      return errors::InvalidArgument("Tensor ", name, " has invalid type ", DTypeName(dtype),
                                     " instead of expected type float");
    }
    if (shape.rank() != 2) {
      return errors::InvalidArgument("Tensor ", name, " has shape ", shape.ToString(), " of invalid rank ",
                                     shape.rank(), " instead of expected shape of rank 2.");
    }
    return reader->Read(name);
  }

  // What the old matrix does not have comes from the initializing values, in order.
  Status Fill(KernelContext& ctx, const Tensor& matrix, const Remapping& rows, const Remapping& cols) const {
    const std::span<const float> fresh = ctx.input(4).flat<float>();
    const int64_t dims[] = {rows_, cols_};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    size_t used = 0;
    float* to = out->data<float>();
    for (int64_t i = 0; i < rows.size(); ++i) {
      for (int64_t j = 0; j < cols.size(); ++j) {
        if (rows.old(i) >= 0 && cols.old(j) >= 0) {
          *to++ = matrix.data<float>()[rows.old(i) * matrix.dim(1) + cols.old(j)];
        } else if (used < fresh.size()) {
          *to++ = fresh[used++];
        } else {
          return errors::InvalidArgument("initializing_values contained ", fresh.size(),
                                         " elements, but more missing values remain.");
        }
      }
    }
    if (used != fresh.size()) {
      return errors::InvalidArgument("initializing_values contained ", fresh.size(), " elements, but only ", used,
                                     " elements were used to fill in missing values.");
    }
    return OkStatus();
  }

  const int64_t rows_, cols_;
};

Status RemappingShape(ShapeContext& c) {
  PartialShape unused;
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  int64_t count = 0;
  RETURN_IF_ERROR(c.GetAttr("num_new_vocab", &count));
  c.set_output(0, PartialShape({count}));
  c.set_output(1, Shape());
  return OkStatus();
}

Status MatrixShape(ShapeContext& c) {
  PartialShape unused;
  for (int i = 2; i < 4; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &unused));
  int64_t rows = 0, cols = 0;
  RETURN_IF_ERROR(c.GetAttr("num_rows", &rows));
  RETURN_IF_ERROR(c.GetAttr("num_cols", &cols));
  c.set_output(0, PartialShape({rows, cols}));
  return OkStatus();
}

OP("GenerateVocabRemapping")
    .Input("new_vocab_file: string")
    .Input("old_vocab_file: string")
    .Output("remapping: int64")
    .Output("num_present: int32")
    .Attr("new_vocab_offset: int >= 0")
    .Attr("num_new_vocab: int >= 0")
    .Attr("old_vocab_size: int >= -1 = -1")
    .Shape(RemappingShape)
    .NotDifferentiable()
    .Cpu<GenerateVocabRemapping>()
    .Expensive()
    .MayBlock()
    .Doc("The lines of an old vocabulary file where words of a new one are, -1 for words that are new.");

OP("LoadAndRemapMatrix")
    .Input("ckpt_path: string")
    .Input("old_tensor_name: string")
    .Input("row_remapping: int64")
    .Input("col_remapping: int64")
    .Input("initializing_values: float")
    .Output("output_matrix: float")
    .Attr("num_rows: int >= 0")
    .Attr("num_cols: int >= 1")
    .Attr("max_rows_in_memory: int = -1")
    .Stateful()
    .Shape(MatrixShape)
    .NotDifferentiable()
    .Cpu<LoadAndRemapMatrix>()
    .Expensive()
    .MayBlock()
    .Doc("A matrix of a checkpoint with rows and columns rearranged; new ones take given values.");

}  // namespace
}  // namespace millstream
