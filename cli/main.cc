// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

// NOLINTNEXTLINE(bugprone-exception-escape): commands report their errors; what is left is the end of memory.
int main(int argc, char** argv) { return millstream::cli::RunCommandLine(argc, argv); }
