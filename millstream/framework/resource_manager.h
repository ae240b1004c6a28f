// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_RESOURCE_MANAGER_H_
#define MILLSTREAM_FRAMEWORK_RESOURCE_MANAGER_H_

#include <functional>
#include <map>
#include <string>
#include <typeindex>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/tensor/resource_handle.h"

namespace millstream {

// Owns resources by (container, type, name). Thread-safe. One per task (or local session) for what outlives steps, and
// one per step for stacks and TensorArrays. What is removed is marked dead, and lives on while somebody holds a Ref.
class ResourceManager {
 public:
  explicit ResourceManager(std::string default_container = "localhost")
      : default_container_(std::move(default_container)) {}
  ~ResourceManager() { ClearAll(); }

  const std::string& default_container() const { return default_container_; }

  // `container` may be empty: the default one. AlreadyExists if taken.
  template <typename T>
  Status Create(const std::string& container, const std::string& name, Ref<T> resource) {
    return DoCreate(container, typeid(T), name, std::move(resource));
  }
  // NotFound if there is none of that type.
  template <typename T>
  StatusOr<Ref<T>> Lookup(const std::string& container, const std::string& name) const {
    ASSIGN_OR_RETURN(Ref<Resource> found, DoLookup(container, typeid(T), name));
    return Ref<T>::Adopt(static_cast<T*>(found.release()));
  }
  // `make` runs under the lock: it must not call back.
  template <typename T>
  StatusOr<Ref<T>> LookupOrCreate(const std::string& container, const std::string& name,
                                  const std::function<StatusOr<Ref<T>>()>& make) {
    ASSIGN_OR_RETURN(Ref<Resource> found,
                     DoLookupOrCreate(container, typeid(T), name, [&]() -> StatusOr<Ref<Resource>> {
                       ASSIGN_OR_RETURN(Ref<T> made, make());
                       return Ref<Resource>(std::move(made));
                     }));
    return Ref<T>::Adopt(static_cast<T*>(found.release()));
  }
  // NotFound if there is none.
  template <typename T>
  Status Delete(const std::string& container, const std::string& name) {
    return DoDelete(container, typeid(T), name);
  }
  // Any type; for DestroyResourceOp.
  Status DeleteAnyType(const std::string& container, const std::string& name);
  // Session.reset(containers).
  void ClearContainer(const std::string& container);
  void ClearAll();

  // A name nobody else gets: for anonymous resources.
  std::string UniqueName(const std::string& prefix);

 private:
  struct Key {
    std::string container;
    std::type_index type;
    std::string name;
    friend auto operator<=>(const Key&, const Key&) = default;  // NOLINT(modernize-use-nullptr): Clang 14 errs
  };
  Key MakeKey(const std::string& container, std::type_index type, const std::string& name) const;
  Status DoCreate(const std::string& container, std::type_index type, const std::string& name, Ref<Resource> resource);
  StatusOr<Ref<Resource>> DoLookup(const std::string& container, std::type_index type, const std::string& name) const;
  StatusOr<Ref<Resource>> DoLookupOrCreate(const std::string& container, std::type_index type, const std::string& name,
                                           const std::function<StatusOr<Ref<Resource>>()>& make);
  Status DoDelete(const std::string& container, std::type_index type, const std::string& name);

  const std::string default_container_;
  mutable Mutex mu_;
  std::map<Key, Ref<Resource>> resources_ ABSL_GUARDED_BY(mu_);
  int64_t next_unique_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_RESOURCE_MANAGER_H_
