# What `cmake --install` puts where: headers, libraries, the program, its pages, and the pkg-config and CMake packages.
# tests/consumer builds programs on the result.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
foreach(section 1 5 7)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(TARGETS weir_program)

# Two export sets: the second needs SQLite's development files, and a consumer of the others need not have them.
set_target_properties(weir PROPERTIES EXPORT_NAME weir)
set_target_properties(weir_static PROPERTIES EXPORT_NAME weir_static)
set_target_properties(weir_jobs PROPERTIES EXPORT_NAME jobs)
set_target_properties(weir_jobs_static PROPERTIES EXPORT_NAME jobs_static)
install(TARGETS weir weir_static weir_jobs EXPORT weirTargets)
install(TARGETS weir_jobs_static EXPORT weirJobsStaticTargets)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${package})
install(EXPORT weirJobsStaticTargets NAMESPACE weir:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/cmake/weirConfig.cmake.in
    ${PROJECT_BINARY_DIR}/weirConfig.cmake INSTALL_DESTINATION ${package})
# Before 1.0 a new minor version may change the ABI.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
    DESTINATION ${package})

# The .pc files name their prefix relative to themselves, so that an installed tree can be moved as a whole.
set(WEIR_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
set(WEIR_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(WEIR_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" up ${up})
    set(WEIR_PC_PREFIX "\${pcfiledir}/${up}")
    set(WEIR_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(WEIR_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
foreach(name libweir libweir-jobs)
    configure_file(${PROJECT_SOURCE_DIR}/packaging/pkgconfig/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
