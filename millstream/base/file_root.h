// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_FILE_ROOT_H_
#define MILLSTREAM_BASE_FILE_ROOT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

class FileRoots;

// A root and a name relative to it.
struct RootedPath {
  int root = -1;  // a descriptor that stays open as long as `roots` is held
  std::string root_path;
  std::string relative;  // "." is the root
  std::shared_ptr<const FileRoots> roots = nullptr;
};

// The folders below which the graphs of a server may touch files. A server has some if others than this host can send
// it graphs; what a program does by itself, outside of ops, is not confined.
//
// An op gives each name that it got from a graph to ConfinedPath() (framework/graph_files.h), and the result to the
// functions of base/file.h and io/. The name carries the number of its roots, so that they see whose it is and open it
// relative to the descriptor of a folder: neither ".." nor symbolic links nor a race with someone who changes them
// leads out of it (base/open_path.h). Names whose roots are gone, since their server has ended, cannot be opened.
// Thread-safe.
class FileRoots {
 public:
  // {"/"} is everywhere. NotFound if a folder is not there.
  static StatusOr<std::shared_ptr<const FileRoots>> Open(const std::vector<std::string>& folders);
  ~FileRoots();
  FileRoots(const FileRoots&) = delete;
  FileRoots& operator=(const FileRoots&) = delete;

  // A name, or a pattern, that says that it is confined here. PermissionDenied, naming --file_root, if it is outside of
  // the folders by its letters alone.
  StatusOr<std::string> Confine(const std::string& name) const;

 private:
  struct Root {
    int fd;
    std::string path;        // without links
    std::string given_path;  // absolute, as it was named
  };
  FileRoots();
  Status Add(const std::string& folder);
  Status Outside(absl::string_view path) const;
  // The root of a path without marks.
  StatusOr<RootedPath> Find(absl::string_view path) const;
  bool FindAbsolute(const std::string& absolute, RootedPath* found) const;

  friend StatusOr<RootedPath> FindRoot(absl::string_view path);
  friend Status OutsideOfRoots(absl::string_view path);

  const uint64_t number_;
  std::vector<Root> roots_;
};

// The name for messages and results.
absl::string_view PlainPath(absl::string_view path);
inline std::string PlainPathString(absl::string_view path) { return std::string(PlainPath(path)); }
bool IsConfinedPath(absl::string_view path);
// `name`, confined to the same roots as `confined`.
StatusOr<std::string> ConfineLike(absl::string_view confined, const std::string& name);

// Of a confined name; PermissionDenied if it is in no root.
StatusOr<RootedPath> FindRoot(absl::string_view path);
// The error for a confined name that leads out of its roots.
Status OutsideOfRoots(absl::string_view path);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_FILE_ROOT_H_
