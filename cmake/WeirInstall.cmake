# What `cmake --install` puts where. tests/consumer builds programs on the result.
include(CMakePackageConfigHelpers)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/weir/*.h)
if(NOT WEIR_JOBS)
    # The headers of libweir-jobs are jobs.h and what it includes.
    file(STRINGS ${PROJECT_SOURCE_DIR}/include/weir/jobs.h jobs_headers REGEX "^#include <weir/")
    list(TRANSFORM jobs_headers REPLACE "^#include <(.*)>" "${PROJECT_SOURCE_DIR}/include/\\1")
    list(REMOVE_ITEM headers ${PROJECT_SOURCE_DIR}/include/weir/jobs.h ${jobs_headers})
endif()
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir)
install(FILES ${PROJECT_SOURCE_DIR}/man/weir.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

# Two export sets: the second needs SQLite's development files, and a consumer of the others need not have them.
set_target_properties(weir PROPERTIES EXPORT_NAME weir)
set_target_properties(weir_static PROPERTIES EXPORT_NAME weir_static)
install(TARGETS weir weir_static EXPORT weirTargets)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
if(WEIR_JOBS)
    set_target_properties(weir_jobs PROPERTIES EXPORT_NAME jobs)
    set_target_properties(weir_jobs_static PROPERTIES EXPORT_NAME jobs_static)
    install(TARGETS weir_jobs EXPORT weirTargets)
    install(TARGETS weir_jobs_static EXPORT weirJobsStaticTargets)
    install(EXPORT weirJobsStaticTargets NAMESPACE weir:: DESTINATION ${package})
endif()
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${package})
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
set(pc_names libweir)
if(WEIR_JOBS)
    list(APPEND pc_names libweir-jobs)
    # No Requires.private: whoever links the shared library needs neither these packages nor the folders of their headers.
    string(JOIN " " WEIR_PC_JOBS_PRIVATE ${SQLITE3_STATIC_LDFLAGS} ${HIREDIS_STATIC_LDFLAGS} ${LIBMD_STATIC_LDFLAGS}
        ${SODIUM_STATIC_LDFLAGS})
endif()
foreach(name ${pc_names})
    configure_file(${PROJECT_SOURCE_DIR}/packaging/pkgconfig/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(NOT WEIR_JOBS)
    return()
endif()
set(examples ${CMAKE_INSTALL_DOCDIR}/examples)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
install(FILES ${sources} DESTINATION ${examples})

if(NOT WEIR_PROGRAM)
    return()
endif()
install(TARGETS weir_program)
foreach(section 1 5)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(PROGRAMS ${PROJECT_SOURCE_DIR}/examples/shell.sh DESTINATION ${examples})
install(FILES ${PROJECT_SOURCE_DIR}/packaging/weir.conf DESTINATION ${examples})
install(FILES ${PROJECT_SOURCE_DIR}/packaging/prometheus/weir.rules.yml
    DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/prometheus)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/grafana/weir-jobs.json DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/grafana)

# Each unit names the program where it is installed, which only `cmake --install` knows. Those of other packages' servers
# are examples: installed as units they would change these servers.
file(GLOB units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/systemd/*.service)
install(CODE "
    cmake_path(APPEND program \"\${CMAKE_INSTALL_PREFIX}\" [[${CMAKE_INSTALL_BINDIR}]] weir)
    set(units [[${units}]])
    file(REMOVE_RECURSE \"${PROJECT_BINARY_DIR}/systemd\")
    foreach(unit IN LISTS units)
        cmake_path(GET unit FILENAME name)
        file(READ \"\${unit}\" text)
        string(REPLACE \"=/usr/local/bin/weir \" \"=\${program} \" text \"\${text}\")
        file(WRITE \"${PROJECT_BINARY_DIR}/systemd/\${name}\" \"\${text}\")
    endforeach()")
install(DIRECTORY ${PROJECT_BINARY_DIR}/systemd/ DESTINATION lib/systemd/system)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/systemd/ DESTINATION ${examples}/systemd FILES_MATCHING PATTERN "*.conf")

# The program prints its completions; one that was built for another machine cannot run here.
if(NOT CMAKE_CROSSCOMPILING)
    set(completions ${PROJECT_BINARY_DIR}/completions)
    file(MAKE_DIRECTORY ${completions})
    foreach(shell bash zsh fish)
        add_custom_command(OUTPUT ${completions}/${shell}
            COMMAND weir_program completion ${shell} > ${completions}/${shell} DEPENDS weir_program VERBATIM)
        list(APPEND completion_files ${completions}/${shell})
    endforeach()
    add_custom_target(weir_completions ALL DEPENDS ${completion_files})
    install(FILES ${completions}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weir)
    install(FILES ${completions}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _weir)
    install(FILES ${completions}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME weir.fish)
endif()
