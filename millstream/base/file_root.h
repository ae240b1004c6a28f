// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_FILE_ROOT_H_
#define MILLSTREAM_BASE_FILE_ROOT_H_

#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream {

// Where the ops of graphs may touch files. Everywhere, unless SetFileRoots() was called: a server does when others than
// this host can send it graphs. What a program does by itself, outside of ops, is not confined. Thread-safe.

// From now on only below these folders, in this process; {"/"} is everywhere. NotFound if one is not there.
Status SetFileRoots(const std::vector<std::string>& folders);
// PermissionDenied, naming --file_root, for a path outside of them. ".." and links are followed first; the file need
// not exist. For the use of ops, before they open, look for or make anything.
Status CheckFileAccess(const std::string& path);
// The same for a pattern with wildcards, which may not lead back by ".." behind one of them.
Status CheckPatternAccess(const std::string& pattern);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_FILE_ROOT_H_
