// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/resource_manager.h"

#include <vector>

namespace millstream {

ResourceManager::Key ResourceManager::MakeKey(const std::string& container, std::type_index type,
                                              const std::string& name) const {
  return Key{container.empty() ? default_container_ : container, type, name};
}

Status ResourceManager::DoCreate(const std::string& container, std::type_index type, const std::string& name,
                                 Ref<Resource> resource) {
  MutexLock lock(mu_);
  Key key = MakeKey(container, type, name);
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
    return errors::NotFound("Resource ", key.container, "/", name, " does not exist.");
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
  resources_.emplace(std::move(key), made);
  return made;
}

Status ResourceManager::DoDelete(const std::string& container, std::type_index type, const std::string& name) {
  Ref<Resource> removed;  // dropped outside the lock: destructors may take their time
  MutexLock lock(mu_);
  const Key key = MakeKey(container, type, name);
  auto it = resources_.find(key);
  if (it == resources_.end()) {
    return errors::NotFound("Resource ", key.container, "/", name, " does not exist.");
  }
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
    if (it->first.container != where || it->first.name != name) {
      ++it;
      continue;
    }
    it->second->MarkDead();
    removed.push_back(std::move(it->second));
    it = resources_.erase(it);
  }
  if (removed.empty()) return errors::NotFound("Resource ", where, "/", name, " does not exist.");
  return OkStatus();
}

void ResourceManager::ClearContainer(const std::string& container) {
  std::vector<Ref<Resource>> removed;
  MutexLock lock(mu_);
  const std::string& where = container.empty() ? default_container_ : container;
  for (auto it = resources_.begin(); it != resources_.end();) {
    if (it->first.container != where) {
      ++it;
      continue;
    }
    it->second->MarkDead();
    removed.push_back(std::move(it->second));
    it = resources_.erase(it);
  }
}

void ResourceManager::ClearAll() {
  std::map<Key, Ref<Resource>> removed;
  MutexLock lock(mu_);
  removed.swap(resources_);
  for (auto& [key, resource] : removed) resource->MarkDead();
}

std::string ResourceManager::UniqueName(const std::string& prefix) {
  MutexLock lock(mu_);
  return absl::StrCat(prefix, "_", next_unique_++);
}

}  // namespace millstream
