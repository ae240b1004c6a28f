# SPDX-License-Identifier: Apache-2.0
# Several sources in one translation unit, with MILLSTREAM_BATCHES (cmake/compiler.cmake says what for). Headers of ours are
# then parsed, and their templates instantiated and optimized, once for all of them. batches.py finds sources whose
# private names do not meet, so that no source has to know of it.
set(MILLSTREAM_BATCH_BYTES 60000 CACHE STRING "How much source goes into one translation unit")
mark_as_advanced(MILLSTREAM_BATCH_BYTES)
set(MILLSTREAM_ALONE "" CACHE STRING "Regular expressions of sources that are being edited: each is compiled alone")
if(MILLSTREAM_BATCHES)
  find_program(MILLSTREAM_BATCHES_PYTHON python3 REQUIRED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/batches.py)
endif()

# Compiles the sources of a target that match none of the expressions given in batches.
function(millstream_batches target)
  if(NOT MILLSTREAM_BATCHES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(expression "\\.h$" "^${PROJECT_BINARY_DIR}/" ${ARGN} ${MILLSTREAM_ALONE})
    list(FILTER sources EXCLUDE REGEX "${expression}")
  endforeach()
  # A private name that a change brings may meet one of a neighbour, which then has to move.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  set(list ${PROJECT_BINARY_DIR}/batches/${target}.sources)
  list(JOIN sources "\n" lines)
  file(WRITE ${list} "${lines}\n")
  execute_process(
    COMMAND ${MILLSTREAM_BATCHES_PYTHON} ${PROJECT_SOURCE_DIR}/cmake/batches.py
            ${PROJECT_SOURCE_DIR} ${list} ${PROJECT_BINARY_DIR}/batches/${target}.txt ${MILLSTREAM_BATCH_BYTES}
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  set(undefine "")
  foreach(line ${lines})
    if(line MATCHES "^macro (.*)$")
      string(APPEND undefine "#undef ${CMAKE_MATCH_1}\n")
    elseif(line MATCHES "^batch ([^ ]+) (.*)$")
      set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_CODE_AFTER_INCLUDE "${undefine}")
  # GCC takes what is not in the main file for a header, where types of an anonymous namespace would be an error.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# The same for what protoc makes: names are its files' own but for two.
function(millstream_batches_of_protos target)
  if(NOT MILLSTREAM_BATCHES)
    return()
  endif()
  set(rename [[
#ifndef MILLSTREAM_JOIN
#include <google/protobuf/generated_message_reflection.h>
#define MILLSTREAM_JOIN_(a, b) a##b
#define MILLSTREAM_JOIN(a, b) MILLSTREAM_JOIN_(a, b)
#define schemas MILLSTREAM_JOIN(schemas_, MILLSTREAM_FILE)
#define file_default_instances MILLSTREAM_JOIN(file_default_instances_, MILLSTREAM_FILE)
#endif
]])
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6 UNITY_BUILD_UNIQUE_ID MILLSTREAM_FILE UNITY_BUILD_CODE_BEFORE_INCLUDE "${rename}")
endfunction()
