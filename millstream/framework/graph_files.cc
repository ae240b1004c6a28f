// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/graph_files.h"

#include "millstream/base/logging.h"
#include "millstream/framework/permanent_resource.h"
#include "millstream/framework/resource_manager.h"

namespace millstream {
namespace {

constexpr char kContainer[] = "_files";

struct RootsOfGraphs final : PermanentResource {
  explicit RootsOfGraphs(std::shared_ptr<const FileRoots> given) : roots(std::move(given)) {}
  std::string DebugString() const override { return "file roots"; }
  const std::shared_ptr<const FileRoots> roots;
};

std::shared_ptr<const FileRoots> RootsOf(const ResourceManager& resources) {
  const StatusOr<Ref<RootsOfGraphs>> found = resources.Lookup<RootsOfGraphs>(kContainer, kContainer);
  return found.ok() ? (*found)->roots : nullptr;
}

}  // namespace

void ConfineGraphs(std::shared_ptr<const FileRoots> roots, ResourceManager* resources) {
  const Status created = resources->Create(kContainer, kContainer, MakeRef<RootsOfGraphs>(std::move(roots)));
  MS_CHECK(created.ok());
}

void ShareFileRoots(const ResourceManager& from, ResourceManager* to) {
  if (std::shared_ptr<const FileRoots> roots = RootsOf(from)) ConfineGraphs(std::move(roots), to);
}

GraphFiles::GraphFiles(const ResourceManager* resources)
    : any_(resources != nullptr), roots_(any_ ? RootsOf(*resources) : nullptr) {}

StatusOr<std::string> GraphFiles::ConfinedPath(const std::string& name) const {
  if (!any_) return errors::PermissionDenied("an op that is evaluated without a session may not touch ", name);
  if (roots_ == nullptr) return name;
  return roots_->Confine(name);
}

}  // namespace millstream
