// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RESOURCES_NAMED_RESOURCE_H_
#define MILLSTREAM_OPS_RESOURCES_NAMED_RESOURCE_H_

#include <string>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {

// For messages about resources that are not as asked for: "float, int32" and "[[2],[]]".
std::string TypeNames(const std::vector<DType>& types);
std::string ShapeNames(const std::vector<PartialShape>& shapes);

// Shape function of ops that give a reference to the two strings {container, name}.
Status StringHandleShape(ShapeContext& c);

// Where a resource lies, by the attributes `container`, `shared_name` and, if there is one, `use_node_name_sharing`.
// One without a name gets one that nobody else has: it is private.
struct ResourceName {
  explicit ResourceName(KernelInit& init);

  std::string container;
  std::string name;
  bool is_private = false;
};

// The resource of a kernel that makes queues, barriers, accumulators or tables: finds or makes it, and keeps its handle
// until its container is reset. A private one goes with the kernel. Thread safe.
template <typename T>
class NamedResource {
 public:
  // `type_name` is TensorFlow's name of the type, in handles.
  NamedResource(KernelInit& init, const char* type_name)
      : resources_(init.resources()),
        type_name_(type_name),
        string_handle_(init.output_types()[0] != DType::kResource),
        at_(init) {}
  ~NamedResource() {
    if (at_.is_private) (void)resources_->Delete<T>(at_.container, at_.name);
  }
  NamedResource(const NamedResource&) = delete;
  NamedResource& operator=(const NamedResource&) = delete;

  const std::string& name() const { return at_.name; }

  // Puts the handle into output 0, in the form that the op has. `make()` gives a new resource; `check(resource)` fails
  // if one that was found is not as this kernel wants it.
  template <typename Make, typename Check>
  Status Output(KernelContext& ctx, Make make, Check check) {
    MutexLock lock(mu_);
    if (!resource_ || !resource_->alive()) {
      ASSIGN_OR_RETURN(Ref<T> found, ctx.resources()->LookupOrCreate<T>(at_.container, at_.name,
                                                                        [&]() -> StatusOr<Ref<T>> { return make(); }));
      RETURN_IF_ERROR(check(*found));
      strings_ = MakeStringHandle(at_.container, at_.name);
      handle_ = MakeHandle(*ctx.device(), at_.container, at_.name, type_name_, found);
      resource_ = std::move(found);
    }
    if (string_handle_)
      ctx.set_output_ref(0, strings_);
    else
      ctx.set_output(0, handle_);
    return OkStatus();
  }

 private:
  ResourceManager* const resources_;
  const char* const type_name_;
  const bool string_handle_;
  const ResourceName at_;
  Mutex mu_;
  Ref<T> resource_ ABSL_GUARDED_BY(mu_);
  Ref<Variable> strings_ ABSL_GUARDED_BY(mu_);
  Tensor handle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RESOURCES_NAMED_RESOURCE_H_
