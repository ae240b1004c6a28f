// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_GRAPH_FILES_H_
#define MILLSTREAM_FRAMEWORK_GRAPH_FILES_H_

#include <memory>
#include <string>

#include "millstream/base/file_root.h"

namespace millstream {

class ResourceManager;

// From now on, ops that use `resources` touch files below these roots only. REQUIRES: called once, before any op runs.
void ConfineGraphs(std::shared_ptr<const FileRoots> roots, ResourceManager* resources);
// The same roots, if there are any, for a session with resources of its own.
void ShareFileRoots(const ResourceManager& from, ResourceManager* to);

// Which files ops may touch that use some resources: those below the roots of ConfineGraphs(), all without such roots,
// none without resources (where an op is evaluated while a graph is planned). Thread-safe.
class GraphFiles {
 public:
  explicit GraphFiles(const ResourceManager* resources);
  // A file's name, or a pattern's, that came from a graph, for the use of base/file.h and io/. PermissionDenied, naming
  // --file_root, if it is outside of the roots by its letters alone. More may be appended to it.
  StatusOr<std::string> ConfinedPath(const std::string& name) const;

 private:
  bool any_;
  std::shared_ptr<const FileRoots> roots_;
};

inline StatusOr<std::string> ConfinedPath(const ResourceManager* resources, const std::string& name) {
  return GraphFiles(resources).ConfinedPath(name);
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_GRAPH_FILES_H_
