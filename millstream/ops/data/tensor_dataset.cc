// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/elements/copy_rows.h"

namespace millstream {
namespace {

std::vector<DType> TypesOf(const Element& components) {
  std::vector<DType> types;
  for (const Tensor& t : components) types.push_back(t.dtype());
  return types;
}

Element AllInputs(KernelContext& ctx) {
  Element components;
  for (int i = 0; i < ctx.num_inputs(); ++i) components.push_back(ctx.input(i));
  return components;
}

// One element.
class TensorDataset final : public Dataset {
 public:
  TensorDataset(Element components, std::vector<PartialShape> shapes)
      : Dataset(TypesOf(components), std::move(shapes)), components_(std::move(components)) {}

  int64_t CountElements() const override { return 1; }
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override {
    return std::make_unique<Iterator>(components_);
  }
  Status FindRandomAccess() const override { return OkStatus(); }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(Element components) : components_(std::move(components)) {}
    bool Ready() override { return true; }
    Status Next(const StepContext&, Element* element, bool* end) override {
      *end = given_;
      if (!given_) *element = components_;
      given_ = true;
      return OkStatus();
    }

   private:
    const Element components_;
    bool given_ = false;
  };
  const Element components_;
};

// The rows of the components.
class SliceDataset final : public Dataset {
 public:
  SliceDataset(Element components, std::vector<PartialShape> shapes)
      : Dataset(TypesOf(components), std::move(shapes)), components_(std::move(components)) {}

  int64_t CountElements() const override { return components_.empty() ? 0 : components_[0].dim(0); }
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override {
    return std::make_unique<Iterator>(components_);
  }
  Status FindRandomAccess() const override { return OkStatus(); }
  StatusOr<AccessPtr> NewAccess(const StepContext&) const override {
    return MakeAccessBy([components = components_](const StepContext&, int64_t i, Element* element) {
      return AppendRows(components, i, element);
    });
  }

 private:
  // Large rows share the memory of their component, if they begin where kernels expect tensors to begin.
  static bool SharesRows(const Tensor& t) {
    constexpr size_t kAlignment = 64, kLeastBytes = 512;
    if (DTypeSize(t.dtype()) == 0 || t.num_elements() == 0) return false;
    const size_t bytes = t.ByteSize() / static_cast<size_t>(t.dim(0));
    return bytes >= kLeastBytes && bytes % kAlignment == 0 && reinterpret_cast<uintptr_t>(t.raw()) % kAlignment == 0;
  }
  static Status AppendRows(const Element& components, int64_t i, Element* element) {
    element->reserve(components.size());
    for (const Tensor& t : components) {
      if (SharesRows(t)) {
        Shape row = t.shape();
        row.RemoveDim(0);
        element->push_back(t.SliceRows(i, i + 1).Reshaped(row));
        continue;
      }
      ASSIGN_OR_RETURN(Tensor row, CopyRow(t, i));
      element->push_back(std::move(row));
    }
    return OkStatus();
  }

  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(Element components) : components_(std::move(components)) {}
    bool Ready() override { return true; }
    Status Next(const StepContext&, Element* element, bool* end) override {
      *end = next_ >= components_[0].dim(0);
      return *end ? OkStatus() : AppendRows(components_, next_++, element);
    }

   private:
    const Element components_;
    int64_t next_ = 0;
  };
  const Element components_;
};

Status CheckComponent(const Tensor& t, const PartialShape& shape, size_t i) {
  if (shape.IsCompatibleWith(t.shape())) return OkStatus();
  return errors::InvalidArgument("Incompatible shapes at component ", i, ": expected ", shape.ToString(), " but got ",
                                 t.shape().ToString(), ".");
}

class MakeTensorDataset final : public Kernel {
 public:
  explicit MakeTensorDataset(KernelInit& init) : shapes_(init.Attr<std::vector<PartialShape>>("output_shapes")) {}
  Status Compute(KernelContext& ctx) override {
    Element components = AllInputs(ctx);
    if (components.size() != shapes_.size())
      return errors::InvalidArgument("output_shapes must have ", components.size(), " entries");
    for (size_t i = 0; i < components.size(); ++i) RETURN_IF_ERROR(CheckComponent(components[i], shapes_[i], i));
    OutputDataset(ctx, MakeRef<TensorDataset>(std::move(components), shapes_));
    return OkStatus();
  }

 private:
  const std::vector<PartialShape> shapes_;
};

class MakeSliceDataset final : public Kernel {
 public:
  explicit MakeSliceDataset(KernelInit& init) : shapes_(init.Attr<std::vector<PartialShape>>("output_shapes")) {}
  Status Compute(KernelContext& ctx) override {
    Element components = AllInputs(ctx);
    if (components.size() != shapes_.size() || components.empty()) {
      return errors::InvalidArgument("output_shapes must have ", components.size(), " entries");
    }
    for (size_t i = 0; i < components.size(); ++i) {
      const Tensor& t = components[i];
      if (t.rank() == 0) return errors::InvalidArgument("All components must be at least 1-dimensional");
      if (t.dim(0) != components[0].dim(0)) {
        return errors::InvalidArgument("All components must have the same size in the 0th dimension");
      }
      Shape row = t.shape();
      row.RemoveDim(0);
      if (!shapes_[i].IsCompatibleWith(row)) {
        return errors::InvalidArgument("Incompatible shapes at component ", i, ": expected ", shapes_[i].ToString(),
                                       " but got ", row.ToString(), ".");
      }
    }
    OutputDataset(ctx, MakeRef<SliceDataset>(std::move(components), shapes_));
    return OkStatus();
  }

 private:
  const std::vector<PartialShape> shapes_;
};

OP("TensorDataset")
    .Input("components: Toutput_types")
    .Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeTensorDataset>()
    .Doc("A dataset of one element.");
OP("TensorSliceDataset")
    .Input("components: Toutput_types")
    .Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("is_files: bool = false")
    .Attr("metadata: string = ''")
    .Attr("replicate_on_split: bool = false")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeSliceDataset>()
    .Doc("A dataset of the rows of its components.");

}  // namespace
}  // namespace millstream
