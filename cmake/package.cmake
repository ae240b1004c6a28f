# SPDX-License-Identifier: Apache-2.0
# `cmake --install` and find_package(millstream). Headers keep their repository paths. Only the shared library is a package:
# ops that register themselves would be dropped from a static one.
if(NOT BUILD_SHARED_LIBS)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/millstream)
install(TARGETS millstream millstream_public_dependencies EXPORT millstream)
install(EXPORT millstream NAMESPACE millstream:: DESTINATION ${package_dir} FILE millstream-targets.cmake)
foreach(root ${PROJECT_SOURCE_DIR} ${MILLSTREAM_GEN_DIR})
  install(DIRECTORY ${root}/millstream DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h" PATTERN testing EXCLUDE)
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/millstream-config.cmake.in
                              ${PROJECT_BINARY_DIR}/millstream-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/millstream-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/millstream-config.cmake ${PROJECT_BINARY_DIR}/millstream-config-version.cmake
        DESTINATION ${package_dir})

# Programs that read MNIST find it beside the installed binary.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/mnist DESTINATION ${CMAKE_INSTALL_DATADIR}/millstream FILES_MATCHING PATTERN "*.gz")
