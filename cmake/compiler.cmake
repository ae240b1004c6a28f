# SPDX-License-Identifier: Apache-2.0
# How everything is compiled and linked. Optimization levels are in CMakePresets.json.
include(CheckLinkerFlag)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# No -march: one binary runs on every x86-64, and kernels choose their instruction set at run time.
add_compile_options(-Wall -Wextra -fno-math-errno -fno-trapping-math -fno-semantic-interposition
                    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety -Werror=thread-safety)
endif()
if(MILLSTREAM_SANITIZE)
  add_compile_options(-fsanitize=${MILLSTREAM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MILLSTREAM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # GCC says by itself what our sources ask for
    foreach(sanitizer address thread)
      if(MILLSTREAM_SANITIZE MATCHES "${sanitizer}")
        string(TOUPPER ${sanitizer} name)
        add_compile_definitions(__SANITIZE_${name}__=1)
      endif()
    endforeach()
  endif()
  if(MILLSTREAM_SANITIZE MATCHES "thread")
    include_directories(BEFORE SYSTEM ${PROJECT_SOURCE_DIR}/cmake/tsan)
  endif()
endif()
if(MILLSTREAM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MILLSTREAM_FUZZ needs Clang; use the preset 'asan'")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# ccache, told to forget where the source tree lies, so that several work trees share one cache.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=include_file_ctime,pch_defines,time_macros ${CCACHE})
endif()

# Parsing headers and instantiating templates is two thirds of compiling a small file. A build of everything therefore
# parses the headers of other libraries once per target (MILLSTREAM_PRECOMPILE) and compiles small sources several at a
# time (MILLSTREAM_BATCHES, cmake/batches.cmake): half the time on an empty compiler cache. Both are the default, whatever
# the state of that cache. Turn them off (`make unbatched`) in a tree where single files are edited: a change of one file
# then compiles that file alone, and several work trees share the compiler cache.
option(MILLSTREAM_PRECOMPILE "Parse the headers of other libraries once per target" ON)
option(MILLSTREAM_BATCHES "Compile several sources in one translation unit" ON)
if(MILLSTREAM_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
elseif(MILLSTREAM_PRECOMPILE)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # or the compiler cache would see other headers every time
endif()

foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} HAVE_LINKER_${linker})
  if(HAVE_LINKER_${linker})
    add_link_options(-fuse-ld=${linker})
    # What runs once, when the library is loaded, lies together: otherwise every page of the code would be touched then.
    add_link_options(-Wl,-z,keep-text-section-prefix)
    break()
  endif()
endforeach()
