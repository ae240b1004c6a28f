# SPDX-License-Identifier: Apache-2.0
# Targets from folders. Sources and tests are globbed: adding a file needs no edit here.
#
#   millstream/<folder>/**.cc             in the library, through one object library per folder
#   millstream/devices/<device>/*.cc      libmillstream_<device>.so, a plug-in
#   millstream/<folder>/**/testing/*.cc   helpers of tests, linked into every test and fuzzer
#   millstream/<folder>/**_test.cc        <folder>_test; for ops one per subfolder: ops_<subfolder>_test
#   cli/**.cc                             the program millstream; cli/**_test.cc: cli_test
#   tests/golden*.cc                      golden_test: everything against recordings of TensorFlow
#   tests/*_test.cc                       tests_test
#   tests/twins/*.cc                      twin_graphs: graphs that tests/twins compares with Python's
#   tests/chaos/threads/*.cc              cluster_chaos: training jobs of threads under faults, in virtual time
#   **_bench.cc in bench/                 one program each
#   millstream/**_fuzz.cc                 one program each, with MILLSTREAM_FUZZ

set(MILLSTREAM_GEN_DIR ${PROJECT_BINARY_DIR}/gen)  # generated headers, under their include paths
set(not_in_library "_test\\.cc$|_bench\\.cc$|_fuzz\\.cc$|/testing/|collective/backends/")

# Sets `out` to the files below `folder` that match `include` and not `exclude` (both regular expressions).
function(millstream_glob out folder include exclude)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER files INCLUDE REGEX "${include}")
  if(exclude)
    list(FILTER files EXCLUDE REGEX "${exclude}")
  endif()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# Parses headers once for all targets of a group, if that is wanted: those given, or those of cmake/precompiled.h. The
# targets of a group have the same options.
function(millstream_precompile target group)
  if(NOT MILLSTREAM_PRECOMPILE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY MILLSTREAM_HEADERS_OF_${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set(headers ${ARGN})
  if(NOT headers)
    set(headers ${PROJECT_SOURCE_DIR}/cmake/precompiled.h)
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
  set_property(GLOBAL PROPERTY MILLSTREAM_HEADERS_OF_${group} ${target})
endfunction()

# Adds an object library that becomes part of libmillstream.
function(millstream_objects target)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${MILLSTREAM_GEN_DIR})
  target_link_libraries(${target} PUBLIC millstream_public_dependencies millstream_private_dependencies)
  add_dependencies(${target} millstream_generated)
  set_property(GLOBAL APPEND PROPERTY MILLSTREAM_OBJECTS ${target})
endfunction()

function(millstream_protos)
  file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/millstream/proto/*.proto)
  foreach(proto ${protos})
    cmake_path(GET proto STEM stem)
    list(APPEND sources ${MILLSTREAM_GEN_DIR}/millstream/proto/${stem}.pb.cc)
    list(APPEND headers ${MILLSTREAM_GEN_DIR}/millstream/proto/${stem}.pb.h)
  endforeach()
  file(MAKE_DIRECTORY ${MILLSTREAM_GEN_DIR})
  add_custom_command(
    OUTPUT ${sources} ${headers}
    COMMAND protobuf::protoc -I${PROJECT_SOURCE_DIR} --cpp_out=${MILLSTREAM_GEN_DIR} ${protos}
    DEPENDS ${protos}
    COMMENT "Generating C++ from millstream/proto"
    VERBATIM)
  add_custom_target(millstream_generated DEPENDS ${headers})
  millstream_objects(millstream_proto ${sources})
  target_compile_options(millstream_proto PRIVATE -w -g0)
  millstream_batches_of_protos(millstream_proto)
endfunction()

# Sets `out` to a source file that holds the status page, made of the files in its folder.
function(millstream_status_page out)
  set(folder ${PROJECT_SOURCE_DIR}/millstream/status/page)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*)
  set(source ${MILLSTREAM_GEN_DIR}/millstream/status/page.cc)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUTPUT=${source} -P ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    COMMENT "Embedding the status page"
    VERBATIM)
  set(${out} ${source} PARENT_SCOPE)
endfunction()

function(millstream_folder name)
  millstream_glob(sources millstream/${name} "." "${not_in_library}")
  if(NOT sources)
    return()
  endif()
  if(name STREQUAL "status")
    millstream_status_page(page)
    list(APPEND sources ${page})
  endif()
  millstream_objects(millstream_${name} ${sources})
  if(name STREQUAL "ops")
    millstream_precompile(millstream_ops ops ${PROJECT_SOURCE_DIR}/millstream/framework/op.h)
  elseif(MILLSTREAM_BATCHES AND NOT name STREQUAL "math")
    millstream_precompile(millstream_${name} library)
  elseif(NOT name MATCHES "^(base|tensor)$")  # too few files to pay for it
    millstream_precompile(millstream_${name} ${name})
  endif()
  if(name MATCHES "^(math|ops)$" AND NOT MILLSTREAM_SANITIZE)
    target_compile_options(millstream_${name} PRIVATE -O3)
  endif()
  # Eigen's templates: nothing gained by -O3 except vectorised rotations, which GCC 12 leaves out at -O2 because their
  # columns might overlap (eigenvalues take half of the time with them); half of the memory is debug information.
  if(name STREQUAL "math")
    set(eigen_sources ${sources})
    list(FILTER eigen_sources INCLUDE REGEX "/math/linalg/eigen_")
    # Precompiled headers were made with other options.
    set_source_files_properties(${eigen_sources} PROPERTIES
      COMPILE_OPTIONS "-O2;-g0;$<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>" SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(NOT name STREQUAL "math")  # few files that include little
    millstream_batches(millstream_${name})
  endif()
endfunction()

function(millstream_library)
  get_property(objects GLOBAL PROPERTY MILLSTREAM_OBJECTS)
  add_library(millstream)
  add_library(millstream::millstream ALIAS millstream)
  foreach(object ${objects})
    target_sources(millstream PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  set_target_properties(millstream PROPERTIES
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(millstream INTERFACE cxx_std_20)
  target_include_directories(millstream INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${MILLSTREAM_GEN_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(millstream
    PUBLIC millstream_public_dependencies
    PRIVATE $<BUILD_INTERFACE:millstream_private_dependencies>)
  add_dependencies(millstream millstream_generated)
endfunction()

# A device of its own library, loaded at run time where MILLSTREAM_DEVICE_PLUGINS names it.
function(millstream_plugin name)
  if(NOT BUILD_SHARED_LIBS)  # a plug-in and the program must share one registry of ops
    return()
  endif()
  millstream_glob(sources millstream/devices/${name} "." "${not_in_library}")
  add_library(millstream_${name} MODULE ${sources})
  millstream_link(millstream_${name})
endfunction()

# Back ends of collectives (millstream/collective/backend.h), where their packages are: the library loads them when they
# are asked for, so that it does not depend on them.
function(millstream_backends)
  if(NOT BUILD_SHARED_LIBS)
    return()
  endif()
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    millstream_backend(mpi MPI::MPI_CXX)
  endif()
  find_path(gloo_headers gloo/allreduce.h)
  find_library(gloo_library gloo)
  if(gloo_headers AND gloo_library)
    millstream_backend(gloo ${gloo_library} Threads::Threads)
  endif()
endfunction()

function(millstream_backend name)
  add_library(millstream_${name} MODULE ${PROJECT_SOURCE_DIR}/millstream/collective/backends/${name}.cc)
  millstream_link(millstream_${name} ${ARGN})
endfunction()

# C++ builders, written by a program that asks the op registry.
function(millstream_builders)
  add_executable(opgen ${PROJECT_SOURCE_DIR}/tools/opgen/opgen.cc)
  millstream_link(opgen)
  set(header ${MILLSTREAM_GEN_DIR}/millstream/ops/gen/ops.h)
  file(MAKE_DIRECTORY ${MILLSTREAM_GEN_DIR}/millstream/ops/gen)
  add_custom_command(OUTPUT ${header} COMMAND opgen builders > ${header} DEPENDS opgen COMMENT "Generating op builders" VERBATIM)
  add_custom_target(millstream_op_builders ALL DEPENDS ${header})
endfunction()

# Programs of this repository see the private dependencies too. A static library is linked as a whole: ops register
# themselves, and nothing refers to their files by name.
function(millstream_link target)
  target_link_libraries(${target} PRIVATE
    $<IF:$<BOOL:${BUILD_SHARED_LIBS}>,millstream,$<LINK_LIBRARY:WHOLE_ARCHIVE,millstream>>
    millstream_private_dependencies ${ARGN})
endfunction()

function(millstream_test name label sources)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  millstream_link(${name} GTest::gtest GTest::gmock GTest::gtest_main)
  if(NOT MILLSTREAM_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)  # what is tested is optimized; the tests themselves need not be
  endif()
  millstream_precompile(${name} tests ${PROJECT_SOURCE_DIR}/cmake/precompiled.h <gmock/gmock.h>)
  if(TARGET millstream_testing)
    target_link_libraries(${name} PRIVATE millstream_testing)
  endif()
  millstream_batches(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # Tests run in the source tree, where they find tests/goldens and data.
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(timeout 600)
  if(MILLSTREAM_SANITIZE)
    set(timeout 3600)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS ${label} TIMEOUT ${timeout} ENVIRONMENT MILLSTREAM_SOURCE_DIR=${PROJECT_SOURCE_DIR})
endfunction()

# Helpers of tests and fuzzers.
function(millstream_test_helpers)
  millstream_glob(helpers millstream "/testing/" "_test\\.cc$|_bench\\.cc$|_fuzz\\.cc$")
  if(helpers)
    add_library(millstream_testing OBJECT ${helpers})
    millstream_link(millstream_testing GTest::gtest GTest::gmock)
    millstream_batches(millstream_testing)
  endif()
endfunction()

function(millstream_tests)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/millstream
       ${PROJECT_SOURCE_DIR}/millstream/*)
  foreach(folder ${folders})
    if(NOT folder STREQUAL "ops")
      millstream_glob(sources millstream/${folder} "_test\\.cc$" "")
      millstream_test(${folder}_test unit "${sources}")
    endif()
  endforeach()
  if(TARGET devices_test)  # plug-ins cannot be linked to: what is tested without its device
    set(cuda ${PROJECT_SOURCE_DIR}/millstream/devices/cuda)
    target_sources(devices_test PRIVATE ${cuda}/layout.cc ${cuda}/memory_pool.cc ${cuda}/fusion/element_program.cc
      ${cuda}/fusion/element_source.cc ${cuda}/fusion/element_layout.cc ${cuda}/fusion/nvrtc.cc)
    find_path(nvrtc_folder libnvrtc.so.13 PATHS /usr/local/cuda/lib64 NO_CACHE)
    if(nvrtc_folder)
      set_property(TARGET devices_test APPEND PROPERTY BUILD_RPATH ${nvrtc_folder})
    endif()
  endif()
  # One binary for each family of ops keeps the turn-around short.
  millstream_glob(sources millstream/ops "_test\\.cc$" "millstream/ops/[^/]+/")
  millstream_test(ops_test unit "${sources}")
  file(GLOB families CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/millstream/ops
       ${PROJECT_SOURCE_DIR}/millstream/ops/*)
  foreach(family ${families})
    millstream_glob(sources millstream/ops/${family} "_test\\.cc$" "")
    millstream_test(ops_${family}_test unit "${sources}")
  endforeach()
  millstream_glob(sources tests "/tests/golden[^/]*\\.cc$" "")
  millstream_test(golden_test conformance "${sources}")
  if(TARGET millstream_shadow)
    # The same on a device whose memory the host cannot touch.
    add_test(NAME golden_on_shadow_device COMMAND golden_test --gtest_filter=*GoldenValues*:*GoldenGradients* --gtest_brief=1
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(golden_on_shadow_device PROPERTIES LABELS conformance TIMEOUT 1800 ENVIRONMENT
      "MILLSTREAM_SOURCE_DIR=${PROJECT_SOURCE_DIR};MILLSTREAM_DEVICE_PLUGINS=$<TARGET_FILE:millstream_shadow>")
    # Small programs that would end the process or fill its memory.
    add_test(NAME hostile_on_shadow_device COMMAND runtime_test --gtest_brief=1
             --gtest_filter=*HostileTensors*:*HostileState*:*HostileFunctions*
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(hostile_on_shadow_device PROPERTIES LABELS unit TIMEOUT 1800 ENVIRONMENT
      "MILLSTREAM_SOURCE_DIR=${PROJECT_SOURCE_DIR};MILLSTREAM_DEVICE_PLUGINS=$<TARGET_FILE:millstream_shadow>")
  endif()
  if(TARGET millstream_cuda)
    # It can be loaded, and every kernel belongs to an op, once for each type; with or without a GPU.
    add_test(NAME cuda_plugin_loads COMMAND golden_test --gtest_filter=*GoldenValues*/Relu_* --gtest_brief=1
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(cuda_plugin_loads PROPERTIES LABELS conformance TIMEOUT 300 FAIL_REGULAR_EXPRESSION "cannot load" ENVIRONMENT
      "MILLSTREAM_SOURCE_DIR=${PROJECT_SOURCE_DIR};MILLSTREAM_DEVICE_PLUGINS=$<TARGET_FILE:millstream_cuda>")
  endif()
  millstream_glob(sources tests "_test\\.cc$" "/tests/consumer/|/tests/golden")
  list(APPEND sources ${PROJECT_SOURCE_DIR}/tests/chaos/threads/record.cc)
  millstream_test(tests_test integration "${sources}")

  millstream_chaos()

  if(BUILD_SHARED_LIBS)
    add_test(NAME consumer COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/run.sh ${PROJECT_BINARY_DIR})
    set_tests_properties(consumer PROPERTIES LABELS integration TIMEOUT 300)
  endif()
endfunction()

# Not with sanitizers: like them, it puts functions of its own in front of the C library's.
function(millstream_chaos)
  if(MILLSTREAM_SANITIZE)
    return()
  endif()
  millstream_glob(sources tests/chaos/threads "." "_test\\.cc$")
  add_executable(cluster_chaos ${sources})
  millstream_link(cluster_chaos)
  target_link_libraries(cluster_chaos PRIVATE ${NGHTTP2_LIBRARY})
  target_compile_options(cluster_chaos PRIVATE -O0)
  set_target_properties(cluster_chaos PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME cluster_chaos COMMAND cluster_chaos --seed 1 --faults 100 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(cluster_chaos PROPERTIES LABELS integration TIMEOUT 600)
endfunction()

# One program per file of `folder` that matches `include`.
function(millstream_programs_of folder include)
  millstream_glob(sources ${folder} "${include}" "")
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    millstream_link(${name} ${ARGN})
    add_dependencies(${name} millstream_op_builders)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  endforeach()
endfunction()

function(millstream_programs)
  # Everything but main(), for the program and for its tests.
  millstream_glob(sources cli "." "_test\\.cc$|/cli/main\\.cc$")
  add_library(millstream_cli_objects OBJECT ${sources})
  millstream_link(millstream_cli_objects CLI11::CLI11)
  millstream_precompile(millstream_cli_objects programs ${PROJECT_SOURCE_DIR}/cmake/precompiled.h <CLI/CLI.hpp> <nlohmann/json.hpp>)
  millstream_batches(millstream_cli_objects)
  add_dependencies(millstream_cli_objects millstream_op_builders)
  add_executable(millstream_cli ${PROJECT_SOURCE_DIR}/cli/main.cc $<TARGET_OBJECTS:millstream_cli_objects>)
  millstream_link(millstream_cli CLI11::CLI11)
  set_target_properties(millstream_cli PROPERTIES
    OUTPUT_NAME millstream RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS millstream_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(MILLSTREAM_TESTS)
    millstream_glob(sources cli "_test\\.cc$" "")
    millstream_test(cli_test unit "${sources}")
    target_sources(cli_test PRIVATE $<TARGET_OBJECTS:millstream_cli_objects>)
    target_link_libraries(cli_test PRIVATE CLI11::CLI11)
    add_dependencies(cli_test millstream_op_builders)
  endif()
  if(MILLSTREAM_TESTS)
    millstream_glob(sources tests/twins "." "")
    add_executable(twin_graphs ${sources})
    millstream_link(twin_graphs CLI11::CLI11)
    target_compile_options(twin_graphs PRIVATE -O0)
    add_dependencies(twin_graphs millstream_op_builders)
    millstream_batches(twin_graphs)
    target_sources(twin_graphs PRIVATE $<TARGET_OBJECTS:millstream_cli_objects>)  # the modes of `millstream train`
    set_target_properties(twin_graphs PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  endif()
  millstream_programs_of(examples "\\.cc$" CLI11::CLI11)
  millstream_programs_of(bench "_bench\\.cc$" benchmark::benchmark)
  millstream_allreduce_peers()
endfunction()

# What `millstream bench allreduce --backend` runs beside our own, where the packages are.
function(millstream_allreduce_peers)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    add_executable(allreduce_mpi ${PROJECT_SOURCE_DIR}/bench/peers/allreduce/mpi.cc)
    target_link_libraries(allreduce_mpi PRIVATE MPI::MPI_CXX)
    set_target_properties(allreduce_mpi PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  endif()
  find_path(gloo_headers gloo/allreduce.h)
  find_library(gloo_library gloo)
  if(gloo_headers AND gloo_library)
    add_executable(allreduce_gloo ${PROJECT_SOURCE_DIR}/bench/peers/allreduce/gloo.cc)
    target_include_directories(allreduce_gloo SYSTEM PRIVATE ${gloo_headers})
    target_link_libraries(allreduce_gloo PRIVATE ${gloo_library} Threads::Threads)
    set_target_properties(allreduce_gloo PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  endif()
endfunction()

function(millstream_fuzzers)
  add_custom_target(fuzzers)
  millstream_glob(sources millstream "_fuzz\\.cc$" "")
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    millstream_link(${name} millstream_testing)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    add_dependencies(fuzzers ${name})
  endforeach()
endfunction()
