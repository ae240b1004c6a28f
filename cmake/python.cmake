# SPDX-License-Identifier: Apache-2.0
# The Python extension millstream/_core and the message modules, in build/<preset>/python. The package's own files stay in
# python/millstream; a small __init__.py there joins both, so PYTHONPATH=build/<preset>/python sees every edit at once.
set(venv_python ${PROJECT_SOURCE_DIR}/.venv-python/bin/python)
if(NOT DEFINED Python_EXECUTABLE AND NOT SKBUILD AND EXISTS ${venv_python})
  set(Python_EXECUTABLE ${venv_python})
endif()
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind REQUIRED CONFIG)

set(MILLSTREAM_PYTHON_DIR ${PROJECT_BINARY_DIR}/python/millstream)
file(GLOB python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cc)
nanobind_add_module(millstream_python NB_STATIC NOMINSIZE ${python_sources})
target_include_directories(millstream_python PRIVATE ${PROJECT_SOURCE_DIR} ${MILLSTREAM_GEN_DIR})
target_include_directories(millstream_python SYSTEM PRIVATE ${Python_NumPy_INCLUDE_DIRS})
target_link_libraries(millstream_python PRIVATE
  $<IF:$<BOOL:${BUILD_SHARED_LIBS}>,millstream,$<LINK_LIBRARY:WHOLE_ARCHIVE,millstream>> millstream_private_dependencies)
add_dependencies(millstream_python millstream_generated)
# What the extension links statically stays its own: another library in the process may bring other versions of it.
target_link_options(millstream_python PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(millstream_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${MILLSTREAM_PYTHON_DIR})
target_compile_options(nanobind-static PRIVATE -w)
millstream_batches(millstream_python)
if(MILLSTREAM_BATCHES)
  set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endif()

# Messages: millstream/proto/*_pb2.py.
file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/millstream/proto/*.proto)
foreach(proto ${protos})
  cmake_path(GET proto STEM stem)
  list(APPEND pb2 ${MILLSTREAM_PYTHON_DIR}/proto/${stem}_pb2.py)
endforeach()
file(MAKE_DIRECTORY ${MILLSTREAM_PYTHON_DIR}/proto)
file(WRITE ${MILLSTREAM_PYTHON_DIR}/proto/__init__.py "")
add_custom_command(
  OUTPUT ${pb2}
  COMMAND protobuf::protoc -I${PROJECT_SOURCE_DIR} --python_out=${PROJECT_BINARY_DIR}/python ${protos}
  DEPENDS ${protos} COMMENT "Generating Python from millstream/proto" VERBATIM)
add_custom_target(millstream_pb2 ALL DEPENDS ${pb2})
add_dependencies(millstream_python millstream_pb2)

file(CONFIGURE OUTPUT ${MILLSTREAM_PYTHON_DIR}/__init__.py @ONLY CONTENT
"# Joins the extension in this folder with the package in the source tree.
__path__.insert(0, r'@PROJECT_SOURCE_DIR@/python/millstream')
__file__ = __path__[0] + '/__init__.py'
with open(__file__, encoding='utf-8') as _f:
    exec(compile(_f.read(), __file__, 'exec'))
")
# The release, as millstream/base/version.h names it.
file(CONFIGURE OUTPUT ${MILLSTREAM_PYTHON_DIR}/_version.py @ONLY CONTENT "RELEASE = '@PROJECT_VERSION@'\n")
install(FILES ${MILLSTREAM_PYTHON_DIR}/_version.py DESTINATION millstream COMPONENT python)

if(SKBUILD)  # what is installed is one folder: the extension, the library beside it, the command line tool in bin/
  set_property(TARGET millstream PROPERTY VERSION)  # archives of packages keep no links: each name would be a copy
  set_property(TARGET millstream PROPERTY SOVERSION)
  set_target_properties(millstream_python PROPERTIES INSTALL_RPATH "$ORIGIN")
  set_target_properties(millstream_cli PROPERTIES INSTALL_RPATH "$ORIGIN/..")
  install(TARGETS millstream LIBRARY DESTINATION millstream COMPONENT python NAMELINK_SKIP)
  install(TARGETS millstream_cli RUNTIME DESTINATION millstream/bin COMPONENT python)
  # Type stubs are for those who install the package.
  add_custom_command(TARGET millstream_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python
            ${Python_EXECUTABLE} -m millstream.platform.stubs ${PROJECT_BINARY_DIR}/stubs
    COMMENT "Writing type stubs" VERBATIM)
  # Programs that read MNIST find it without a download.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/mnist DESTINATION millstream/files COMPONENT python FILES_MATCHING PATTERN "*.gz")
  install(DIRECTORY ${PROJECT_BINARY_DIR}/stubs/ DESTINATION millstream COMPONENT python)
endif()
install(TARGETS millstream_python LIBRARY DESTINATION millstream COMPONENT python)
install(DIRECTORY ${MILLSTREAM_PYTHON_DIR}/proto DESTINATION millstream COMPONENT python FILES_MATCHING PATTERN "*.py")

set(MILLSTREAM_TESTS_ON_DEVICES behaviour gradients input keras layers mixed_precision optimizers saver session sessions variables)
if(MILLSTREAM_TESTS)
  add_test(NAME python COMMAND ${Python_EXECUTABLE} -m pytest -q ${PROJECT_SOURCE_DIR}/python/tests
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(python PROPERTIES LABELS python TIMEOUT 900
    ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;MILLSTREAM_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  if(TARGET millstream_shadow)
    # Programs on a device whose memory the host cannot touch.
    list(TRANSFORM MILLSTREAM_TESTS_ON_DEVICES PREPEND ${PROJECT_SOURCE_DIR}/python/tests/test_ OUTPUT_VARIABLE files)
    list(TRANSFORM files APPEND .py)
    add_test(NAME python_on_shadow_device COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider ${files}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(python_on_shadow_device PROPERTIES LABELS python TIMEOUT 900 ENVIRONMENT
      "PYTHONPATH=${PROJECT_BINARY_DIR}/python;MILLSTREAM_SOURCE_DIR=${PROJECT_SOURCE_DIR};MILLSTREAM_DEVICE_PLUGINS=$<TARGET_FILE:millstream_shadow>")
  endif()
  # Several processes: servers of the command line tool, clients in Python; and scripts of the build.
  if(MILLSTREAM_PROGRAMS)
    foreach(folder build chaos cluster launch twins)
      add_test(NAME ${folder} COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider ${PROJECT_SOURCE_DIR}/tests/${folder}
               WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(${folder} PROPERTIES LABELS integration TIMEOUT 1800
        ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;MILLSTREAM_PROGRAM=$<TARGET_FILE:millstream_cli>")
    endforeach()
    # The longest first, while the others run beside it: its tests wait for processes more than they compute.
    set_tests_properties(cluster PROPERTIES TIMEOUT 2700 COST 1000)
    set_tests_properties(chaos cluster launch PROPERTIES RESOURCE_LOCK clusters)
    if(TARGET millstream_shadow)
      set_property(TEST cluster APPEND PROPERTY ENVIRONMENT "MILLSTREAM_SHADOW_PLUGIN=$<TARGET_FILE:millstream_shadow>")
    endif()
    set_property(TEST twins APPEND PROPERTY ENVIRONMENT "MILLSTREAM_TWIN_GRAPHS=$<TARGET_FILE:twin_graphs>")
  endif()
endif()
