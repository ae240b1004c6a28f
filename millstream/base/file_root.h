// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_FILE_ROOT_H_
#define MILLSTREAM_BASE_FILE_ROOT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// Where the ops of graphs may touch files. Everywhere, unless SetFileRoots() was called: a server does when others than
// this host can send it graphs. What a program does by itself, outside of ops, is not confined. Thread-safe.
//
// An op gives each name that it got from a graph to ConfinedPath(), and the result to the functions of base/file.h and
// io/. They see that the name is confined and open it relative to the descriptor of a root, so that neither ".." nor
// symbolic links nor a race with someone who changes them leads out of it (base/open_path.h).

// From now on only below these folders, in this process; {"/"} is everywhere. NotFound if one is not there.
Status SetFileRoots(const std::vector<std::string>& folders);

// A file's name, or a pattern's, for the use of base/file.h and io/: the name itself where nothing is confined.
// PermissionDenied, naming --file_root, if it is outside of the roots by its letters alone. More may be appended to it.
StatusOr<std::string> ConfinedPath(const std::string& name);
// The name for messages and results.
absl::string_view PlainPath(absl::string_view path);
inline std::string PlainPathString(absl::string_view path) { return std::string(PlainPath(path)); }

// A root and a name relative to it.
struct RootedPath {
  int root = -1;  // a descriptor that stays open
  std::string root_path;
  std::string relative;  // "." is the root
};
// Of a path that ConfinedPath() gave; PermissionDenied if it is in none.
StatusOr<RootedPath> FindRoot(absl::string_view path);
bool IsConfinedPath(absl::string_view path);
Status OutsideOfRoots(absl::string_view path);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_FILE_ROOT_H_
