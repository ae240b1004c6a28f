// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/guardian.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "millstream/launch/child_process.h"

namespace millstream::launch {
namespace {

constexpr size_t kMostGroups = 4096;

// Files of the folder, not folders in it, then the folder.
void RemoveFolder(const char* path) {
  if (*path == 0) return;
  if (DIR* folder = opendir(path); folder != nullptr) {
    while (const dirent* entry = readdir(folder)) {
      if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
  }
  rmdir(path);
}

// Positive numbers are groups to watch, negative ones to forget, 0 ends the guardian. Runs in a forked process.
[[noreturn]] void Guard(int pipe, const char* scratch_folder) {
  static std::array<pid_t, kMostGroups> groups;
  groups.fill(0);
  pid_t number = 0;
  while (true) {
    const ssize_t got = read(pipe, &number, sizeof(number));
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(number)) break;
    if (number == 0) _exit(0);
    const pid_t looked_for = number > 0 ? 0 : -number;
    for (pid_t& group : groups) {
      if (group != looked_for) continue;
      group = number > 0 ? number : 0;
      break;
    }
  }
  for (pid_t group : groups) {
    if (group > 0) kill(-group, SIGKILL);
  }
  RemoveFolder(scratch_folder);
  _exit(0);
}

}  // namespace

Guardian::Guardian(const std::string& scratch_folder) : scratch_folder_(scratch_folder) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    // Out of the terminal's reach, and without the files that others wait for the end of.
    setsid();
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
    close(ends[1]);  // first of all: the end of this pipe is the word that it waits for
    dup2(ends[0], 3);
    close_range(4, ~0U, 0);
    for (int fd : {0, 1, 2}) close(fd);
    Guard(3, scratch_folder_.c_str());
  }
  close(ends[0]);
  pipe_ = ends[1];
  if (pid_ < 0) {
    close(pipe_);
    pipe_ = -1;
  }
}

Guardian::~Guardian() {
  if (pipe_ >= 0) {
    Watch(0);
    close(pipe_);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  RemoveFolder(scratch_folder_.c_str());
}

void Guardian::Watch(pid_t process_group) {
  if (pipe_ < 0) return;
  WriteAll(pipe_, {reinterpret_cast<const char*>(&process_group), sizeof(process_group)});
}

void Guardian::Forget(pid_t process_group) { Watch(-process_group); }

}  // namespace millstream::launch
