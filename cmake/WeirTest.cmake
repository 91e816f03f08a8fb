# The name of a test: its path below src/ or tests/ with dots, without _test.
function(weir_test_name ret_name file)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    string(REGEX REPLACE "^(src|tests)/" "" name ${path})
    string(REGEX REPLACE "(_test)?\\.c$" "" name ${name})
    string(REPLACE "/" "." name ${name})
    set(${ret_name} ${name} PARENT_SCOPE)
endfunction()

# `make test` runs four entries a processor side by side, since most wait for servers, timers and disks. One that
# computes takes three of these places, so that about as many compute as there are processors, and begins early.
set(WEIR_TEST_COMPUTES PROCESSORS 3 COST 100)

# weir_test_program(FILE LIBS...): the executable test.NAME, without an entry in ctest.
function(weir_test_program file)
    cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
    weir_test_name(name ${file})
    add_executable(test.${name} ${file})
    target_link_libraries(test.${name} PRIVATE weir_compile ${ARG_LIBS})
    target_include_directories(test.${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(WEIR_QUICK_TESTS AND NOT name MATCHES "^(models|schedules|stress|support)\\.")
        weir_unoptimised(test.${name})
    endif()
endfunction()

# weir_test(FILE LIBS... [LABELS ...] [TIMEOUT seconds] [COMPUTES] [CASES]): one executable and one ctest entry a file,
# or with CASES one entry a case. The entry is named by the path: src/queue/delay_test.c is queue.delay,
# tests/integration/put_test.c is integration.put; a case of it is integration.put:NAME.
function(weir_test file)
    cmake_parse_arguments(ARG "COMPUTES;CASES" "TIMEOUT" "LIBS;LABELS" ${ARGN})
    weir_test_name(name ${file})
    weir_test_program(${file} LIBS ${ARG_LIBS})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    set(properties TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
    if(ARG_LABELS)
        list(APPEND properties LABELS ${ARG_LABELS})
    endif()
    if(ARG_COMPUTES)
        list(APPEND properties ${WEIR_TEST_COMPUTES})
    endif()
    if(ARG_CASES)
        # ctest asks the executable for its cases when it begins.
        set(entries ${CMAKE_CURRENT_BINARY_DIR}/${name}.cases.cmake)
        file(GENERATE OUTPUT ${entries} CONTENT "include(\"${PROJECT_SOURCE_DIR}/cmake/WeirCases.cmake\")
weir_cases(${name} \"$<TARGET_FILE:test.${name}>\" ${properties})\n")
        set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${entries})
    else()
        add_test(NAME ${name} COMMAND test.${name})
        set_tests_properties(${name} PROPERTIES ${properties})
    endif()
endfunction()
