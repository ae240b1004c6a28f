// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/match.h"
#include "millstream/framework/op.h"
#include "millstream/ops/lookup/table.h"
#include "millstream/ops/resources/named_resource.h"

namespace millstream {
namespace {

using Kind = LookupTable::Kind;

constexpr char kTableTypeName[] = "tensorflow::lookup::LookupInterface";

using KeyTypes = Types<int32_t, int64_t, std::string>;

// An anonymous table belongs to its handle.
template <Kind kind>
class TableOp final : public Kernel {
 public:
  explicit TableOp(KernelInit& init) {
    options_.kind = kind;
    options_.key_dtype = init.Attr<DType>("key_dtype");
    options_.value_dtype = init.Attr<DType>("value_dtype");
    if (options_.key_dtype == DType::kInt32 && options_.value_dtype == DType::kInt64) {
      init.Fail(errors::NotFound("There are no tables from int32 to int64; use keys of type int64"));
    }
    if (init.HasAttr("value_shape")) {
      const auto shape = init.Attr<PartialShape>("value_shape");
      if (!shape.IsFullyDefined())
        init.Fail(errors::InvalidArgument("value_shape must be fully defined"));
      else
        options_.value_shape = shape.ToShape();
      if (kind == Kind::kMutable && shape.rank_known() && shape.rank() != 1) {
        init.Fail(errors::InvalidArgument("Default value must be a vector, got shape ", shape.ToString()));
      }
    }
    if (kind == Kind::kDense) {
      CheckBuckets(init);
      options_.buckets = init.Attr<int64_t>("initial_num_buckets");
      options_.max_load = init.Attr<float>("max_load_factor");
    }
    if (!absl::StartsWith(init.op().name, "Anonymous")) table_.emplace(init, kTableTypeName);
  }

  Status Compute(KernelContext& ctx) override {
    if (!table_.has_value()) {
      ASSIGN_OR_RETURN(Ref<LookupTable> table, Make(ctx, ""));
      ctx.set_output(0, MakeHandle(*ctx.device(), ctx.resources()->default_container(),
                                   ctx.resources()->UniqueName("table"), kTableTypeName, std::move(table)));
      return OkStatus();
    }
    return table_->Output(
        ctx, [&] { return Make(ctx, table_->name()); },
        [this](const LookupTable& found) { return found.CheckTypes(options_.key_dtype, options_.value_dtype); });
  }

 private:
  static void CheckBuckets(KernelInit& init) {
    const auto buckets = init.Attr<int64_t>("initial_num_buckets");
    const auto load = init.Attr<float>("max_load_factor");
    if (buckets < 4 || (buckets & (buckets - 1)) != 0) {
      init.Fail(errors::InvalidArgument("Number of buckets must be at least 4 and a power of 2, got: ", buckets));
    }
    if (!(load > 0) || !(load < 1)) {
      init.Fail(errors::InvalidArgument("max_load_factor must be between 0 and 1, got: ", load));
    }
  }

  StatusOr<Ref<LookupTable>> Make(KernelContext& ctx, const std::string& name) const {
    LookupTable::Options options = options_;
    if (kind == Kind::kDense) {
      options.empty_key = ctx.input(0);
      options.key_shape = options.empty_key.shape();
      if (options.key_shape.rank() > 1) {
        return errors::InvalidArgument("Empty key must be a scalar or a vector, got shape ",
                                       options.key_shape.ToString());
      }
      if (ctx.num_inputs() > 1) {
        options.deleted_key = ctx.input(1);
        if (!(options.deleted_key.shape() == options.key_shape)) {
          return errors::InvalidArgument("Empty and deleted keys must have same shape, got shapes: ",
                                         options.key_shape.ToString(), " and ", options.deleted_key.shape().ToString());
        }
        RowStore empty(options.empty_key.dtype(), options.key_shape);
        RETURN_IF_ERROR(empty.Reserve(1));
        empty.Put(options.empty_key, 0, 0);
        if (empty.Equal(options.deleted_key, 0, 0)) {
          return errors::InvalidArgument("Empty and deleted keys cannot be equal");
        }
      }
    }
    return MakeRef<LookupTable>(std::move(options), name);
  }

  LookupTable::Options options_;
  std::optional<NamedResource<LookupTable>> table_;  // none if it is anonymous
};

void TypeAttrs(OpBuilder& op) { op.Attr("key_dtype: type").Attr("value_dtype: type"); }
void NamedTableAttrs(OpBuilder& op) {
  op.Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("use_node_name_sharing: bool = false")
      .With(TypeAttrs)
      .NotDifferentiable();
}

// Each table exists under three names: with a reference to a handle of strings, with a resource handle, and as a table
// that only its handle knows.
void MakesReference(OpBuilder& op) {
  op.Output("table_handle: Ref(string)").With(NamedTableAttrs).Shape(StringHandleShape);
}
void MakesHandle(OpBuilder& op) { op.Output("table_handle: resource").With(NamedTableAttrs).Shape(ScalarShape); }
void MakesAnonymous(OpBuilder& op) { op.Output("table_handle: resource").With(TypeAttrs).Shape(ScalarShape); }

template <Kind kind>
void TableKernels(OpBuilder& op) {
  op.Stateful().CpuFor<TableOp<kind>>(KeyTypes{}, "key_dtype");
}

void HashTableOp(OpBuilder& op) {
  op.With(TableKernels<Kind::kInitializable>).Doc("A table that is filled once and then only read.");
}
OP("HashTable").With(MakesReference).With(HashTableOp);
OP("HashTableV2").With(MakesHandle).With(HashTableOp);
OP("AnonymousHashTable").With(MakesAnonymous).With(HashTableOp);

void MutableHashTableOp(OpBuilder& op) {
  op.With(TableKernels<Kind::kMutable>).Doc("A table of scalars that can be changed.");
}
OP("MutableHashTable").With(MakesReference).With(MutableHashTableOp);
OP("MutableHashTableV2").With(MakesHandle).With(MutableHashTableOp);
OP("AnonymousMutableHashTable").With(MakesAnonymous).With(MutableHashTableOp);

void MutableHashTableOfTensorsOp(OpBuilder& op) {
  op.Attr("value_shape: shape = {}").With(TableKernels<Kind::kMutable>).Doc("A table of vectors that can be changed.");
}
OP("MutableHashTableOfTensors").With(MakesReference).With(MutableHashTableOfTensorsOp);
OP("MutableHashTableOfTensorsV2").With(MakesHandle).With(MutableHashTableOfTensorsOp);
OP("AnonymousMutableHashTableOfTensors").With(MakesAnonymous).With(MutableHashTableOfTensorsOp);

void MutableDenseHashTableOp(OpBuilder& op) {
  op.Attr("value_shape: shape = {}")
      .Attr("initial_num_buckets: int = 131072")
      .Attr("max_load_factor: float = 0.8")
      .With(TableKernels<Kind::kDense>)
      .Doc("A table that can be changed, with keys set aside for its own use.");
}
void ReservedKeys(OpBuilder& op) { op.Input("empty_key: key_dtype").Input("deleted_key: key_dtype"); }
OP("MutableDenseHashTable").With(MakesReference).Input("empty_key: key_dtype").With(MutableDenseHashTableOp);
OP("MutableDenseHashTableV2").With(MakesHandle).With(ReservedKeys).With(MutableDenseHashTableOp);
OP("AnonymousMutableDenseHashTable").With(MakesAnonymous).With(ReservedKeys).With(MutableDenseHashTableOp);

}  // namespace
}  // namespace millstream
