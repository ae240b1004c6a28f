// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/resource_manager.h"

#include <vector>

#include "millstream/framework/permanent_resource.h"

namespace millstream {
namespace {

// An entry of this type without a resource marks a container that exists: one that has held something since it was
// cleared.
struct ContainerMark {};

bool Stays(const Ref<Resource>& resource) { return dynamic_cast<const PermanentResource*>(resource.get()) != nullptr; }

template <typename Map>
Status NotThere(const Map& resources, const typename Map::key_type& key, absl::string_view looking_for = "") {
  if (resources.count({key.container, typeid(ContainerMark), ""}) == 0) {
    return errors::NotFound("Container ", key.container, " does not exist.", looking_for);
  }
  return errors::NotFound("Resource ", key.container, "/", key.name, " does not exist.");
}

}  // namespace

ResourceManager::Key ResourceManager::MakeKey(const std::string& container, std::type_index type,
                                              const std::string& name) const {
  return Key{container.empty() ? default_container_ : container, type, name};
}

Status ResourceManager::DoCreate(const std::string& container, std::type_index type, const std::string& name,
                                 Ref<Resource> resource) {
  MutexLock lock(mu_);
  Key key = MakeKey(container, type, name);
  resources_.try_emplace(Key{key.container, typeid(ContainerMark), ""});
  if (!resources_.emplace(key, std::move(resource)).second) {
    return errors::AlreadyExists("Resource ", key.container, "/", name, " already exists");
  }
  return OkStatus();
}

StatusOr<Ref<Resource>> ResourceManager::DoLookup(const std::string& container, std::type_index type,
                                                  const std::string& name) const {
  MutexLock lock(mu_);
  const Key key = MakeKey(container, type, name);
  auto it = resources_.find(key);
  if (it == resources_.end()) {
    return NotThere(resources_, key, absl::StrCat(" (Could not find resource: ", key.container, "/", name, ")"));
  }
  return it->second;
}

StatusOr<Ref<Resource>> ResourceManager::DoLookupOrCreate(const std::string& container, std::type_index type,
                                                          const std::string& name,
                                                          const std::function<StatusOr<Ref<Resource>>()>& make) {
  MutexLock lock(mu_);
  Key key = MakeKey(container, type, name);
  auto it = resources_.find(key);
  if (it != resources_.end()) return it->second;
  ASSIGN_OR_RETURN(Ref<Resource> made, make());
  resources_.try_emplace(Key{key.container, typeid(ContainerMark), ""});
  resources_.emplace(std::move(key), made);
  return made;
}

Status ResourceManager::DoDelete(const std::string& container, std::type_index type, const std::string& name) {
  Ref<Resource> removed;  // dropped outside the lock: destructors may take their time
  MutexLock lock(mu_);
  const Key key = MakeKey(container, type, name);
  auto it = resources_.find(key);
  if (it == resources_.end()) return NotThere(resources_, key);
  removed = std::move(it->second);
  removed->MarkDead();
  resources_.erase(it);
  return OkStatus();
}

Status ResourceManager::DeleteAnyType(const std::string& container, const std::string& name) {
  std::vector<Ref<Resource>> removed;
  MutexLock lock(mu_);
  const std::string& where = container.empty() ? default_container_ : container;
  for (auto it = resources_.begin(); it != resources_.end();) {
    if (it->first.container != where || it->first.name != name || !it->second || Stays(it->second)) {
      ++it;
      continue;
    }
    it->second->MarkDead();
    removed.push_back(std::move(it->second));
    it = resources_.erase(it);
  }
  return removed.empty() ? NotThere(resources_, Key{where, typeid(void), name}) : OkStatus();
}

void ResourceManager::ClearContainer(const std::string& container) {
  std::vector<Ref<Resource>> removed;
  MutexLock lock(mu_);
  const std::string& where = container.empty() ? default_container_ : container;
  for (auto it = resources_.begin(); it != resources_.end();) {
    if (it->first.container != where || Stays(it->second)) {
      ++it;
      continue;
    }
    if (it->second) it->second->MarkDead();
    removed.push_back(std::move(it->second));
    it = resources_.erase(it);
  }
}

void ResourceManager::ClearAll() {
  std::map<Key, Ref<Resource>> removed;
  MutexLock lock(mu_);
  removed.swap(resources_);
  for (auto it = removed.begin(); it != removed.end();) {
    const auto next = std::next(it);
    if (Stays(it->second))
      resources_.insert(removed.extract(it));
    else if (it->second)
      it->second->MarkDead();
    it = next;
  }
}

std::string ResourceManager::UniqueName(const std::string& prefix) {
  MutexLock lock(mu_);
  return absl::StrCat(prefix, "_", next_unique_++);
}

}  // namespace millstream
