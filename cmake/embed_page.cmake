# SPDX-License-Identifier: Apache-2.0
# Script: makes one C++ source of the status page. cmake -DFOLDER=... -DOUTPUT=... -P embed_page.cmake
file(READ ${FOLDER}/status.html page)
file(READ ${FOLDER}/status.css style)
file(GLOB scripts ${FOLDER}/*.js)
list(SORT scripts)
set(script "")
foreach(name ${scripts})
  file(READ ${name} part)
  string(REGEX REPLACE "\n *//[^\n]*" "" part "\n${part}")  # lines of comments
  string(APPEND script "${part}")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(REGEX REPLACE "\n[\n ]+" "\n" page "${page}")  # indentation and empty lines
# Lines of literals, as compilers allow some 64 KB in one.
string(REPLACE "\\" "\\\\" page "${page}")
string(REPLACE "\"" "\\\"" page "${page}")
string(REPLACE "\n" "\\n\"\n\"" page "${page}")
file(WRITE ${OUTPUT} "// Made from millstream/status/page.
#include \"millstream/status/page.h\"

namespace millstream {
const char kStatusPage[] = \"${page}\";
}  // namespace millstream
")
