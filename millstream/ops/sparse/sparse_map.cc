// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "millstream/framework/op.h"
#include "millstream/ops/sparse/sparse_input.h"
#include "millstream/ops/sparse/sparse_parts.h"

namespace millstream {
namespace {

// Sparse tensors under numbers, each taken once. Thread-safe.
class SparseMap final : public Resource {
 public:
  std::string DebugString() const override { return "SparseTensorsMap"; }

  int64_t Add(SparseParts parts) {
    MutexLock lock(mu_);
    parts_.emplace(next_, std::move(parts));
    return next_++;
  }
  Status Take(int64_t number, SparseParts* parts) {
    MutexLock lock(mu_);
    const auto it = parts_.find(number);
    if (it == parts_.end()) return errors::InvalidArgument("Unable to find SparseTensor: ", number, " in map");
    *parts = std::move(it->second);
    parts_.erase(it);
    return OkStatus();
  }

 private:
  Mutex mu_;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int64_t, SparseParts> parts_ ABSL_GUARDED_BY(mu_);
};

// Ops meet in the map of one name; a node without one has the map of its own name.
class MapKernel : public Kernel {
 public:
  explicit MapKernel(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = init.node_name();
  }

 protected:
  StatusOr<Ref<SparseMap>> Map(const KernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<SparseMap>(
        container_, name_, []() -> StatusOr<Ref<SparseMap>> { return MakeRef<SparseMap>(); });
  }

 private:
  const std::string container_;
  std::string name_;
};

class AddSparse : public MapKernel {
 public:
  using MapKernel::MapKernel;
  Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(ReadSparse(ctx, 0).status());
    ASSIGN_OR_RETURN(Ref<SparseMap> map, Map(ctx));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    out->scalar<int64_t>() = map->Add({ctx.input(0), ctx.input(1), ctx.input(2)});
    return OkStatus();
  }
};

class AddManySparse : public MapKernel {
 public:
  using MapKernel::MapKernel;
  Status Compute(KernelContext& ctx) override {
    std::vector<SparseParts> rows;
    RETURN_IF_ERROR(SplitRows(ctx, &rows));
    ASSIGN_OR_RETURN(Ref<SparseMap> map, Map(ctx));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(rows.size())})));
    for (size_t i = 0; i < rows.size(); ++i) out->data<int64_t>()[i] = map->Add(std::move(rows[i]));
    return OkStatus();
  }
};

class TakeManySparse : public MapKernel {
 public:
  using MapKernel::MapKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor& numbers = ctx.input(0);
    if (numbers.rank() != 1) {
      return errors::InvalidArgument("sparse_handles should be a vector but received shape ",
                                     numbers.shape().ToString());
    }
    if (numbers.num_elements() == 0) {
      return errors::InvalidArgument("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    ASSIGN_OR_RETURN(Ref<SparseMap> map, Map(ctx));
    std::vector<SparseParts> parts(static_cast<size_t>(numbers.num_elements()));
    for (size_t i = 0; i < parts.size(); ++i) {
      RETURN_IF_ERROR(map->Take(numbers.data<int64_t>()[i], &parts[i]));
      if (parts[i].values.dtype() != ctx.output_dtype(1)) {
        return errors::InvalidArgument("Requested SparseTensor of type ", DTypeName(ctx.output_dtype(1)),
                                       " but SparseTensor[", i,
                                       "].values.dtype() == ", DTypeName(parts[i].values.dtype()));
      }
    }
    return JoinRows(ctx, parts, numbers.shape(), "rank", 1);
  }
};

Status TakeShape(ShapeContext& c) {
  SetSparseOutput(c, 0, -1);
  return OkStatus();
}
Status AddManyShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1}));
  return OkStatus();
}

void NameAttrs(OpBuilder& op) { op.Attr("container: string = ''").Attr("shared_name: string = ''"); }

OP("AddSparseToTensorsMap")
    .Input("sparse_indices: int64")
    .Input("sparse_values: T")
    .Input("sparse_shape: int64")
    .Output("sparse_handle: int64")
    .Attr("T: type")
    .With(NameAttrs)
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<AddSparse>()
    .Doc("Puts a sparse tensor into a map; its number.");

OP("AddManySparseToTensorsMap")
    .Input("sparse_indices: int64")
    .Input("sparse_values: T")
    .Input("sparse_shape: int64")
    .Output("sparse_handles: int64")
    .Attr("T: type")
    .With(NameAttrs)
    .Stateful()
    .Shape(AddManyShape)
    .Cpu<AddManySparse>()
    .Doc("Puts the rows of a sparse tensor into a map; their numbers.");

OP("TakeManySparseFromTensorsMap")
    .Input("sparse_handles: int64")
    .Output("sparse_indices: int64")
    .Output("sparse_values: dtype")
    .Output("sparse_shape: int64")
    .Attr("dtype: type")
    .With(NameAttrs)
    .Stateful()
    .Shape(TakeShape)
    .Cpu<TakeManySparse>()
    .Doc("Takes sparse tensors out of a map, as the rows of one.");

}  // namespace
}  // namespace millstream
