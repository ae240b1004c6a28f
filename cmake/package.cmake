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

install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
# Written by tools/packaging/notices.py when everything is compiled (`make deb`, `make install`), on Debian.
install(FILES ${PROJECT_BINARY_DIR}/THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

# The manual page and completions are written by the program itself.
if(TARGET millstream_cli)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  add_custom_command(TARGET millstream_cli POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
    COMMAND millstream_cli reference man > ${manual}/millstream.1
    COMMAND millstream_cli completion bash > ${manual}/millstream.bash
    COMMAND millstream_cli completion fish > ${manual}/millstream.fish
    COMMENT "Writing the manual page" VERBATIM)
  install(FILES ${manual}/millstream.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${manual}/millstream.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME millstream)
  install(FILES ${manual}/millstream.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# `make deb`.
set(CPACK_PACKAGE_NAME millstream)
set(CPACK_PACKAGE_VENDOR "The Millstream authors")
set(CPACK_PACKAGE_CONTACT "The Millstream authors <millstream@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION "Library, headers and the command millstream: dataflow graphs, sessions, parameter servers and workers, training\nfrom the command line, launching of TF1 programs as clusters. The Python package comes as a wheel.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL Unspecified)  # not the Python extension, which comes as a wheel
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libabsl-dev, libprotobuf-dev, g++, cmake")  # to compile against the headers
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
