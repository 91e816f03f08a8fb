# The name of a test: its path below src/ or tests/ with dots, without _test.
function(weir_test_name ret_name file)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    string(REGEX REPLACE "^(src|tests)/" "" name ${path})
    string(REGEX REPLACE "(_test)?\\.c$" "" name ${name})
    string(REPLACE "/" "." name ${name})
    set(${ret_name} ${name} PARENT_SCOPE)
endfunction()

# weir_test_program(FILE LIBS...): the executable test.NAME, without an entry in ctest.
function(weir_test_program file)
    cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
    weir_test_name(name ${file})
    add_executable(test.${name} ${file})
    target_link_libraries(test.${name} PRIVATE weir_compile ${ARG_LIBS})
    target_include_directories(test.${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endfunction()

# weir_test(FILE LIBS... [LABELS ...] [TIMEOUT seconds]): one executable and one ctest entry a file. The entry is
# named by the path: src/queue/delay_test.c is queue.delay, tests/integration/put_test.c is integration.put.
function(weir_test file)
    cmake_parse_arguments(ARG "" "TIMEOUT" "LIBS;LABELS" ${ARGN})
    weir_test_name(name ${file})
    weir_test_program(${file} LIBS ${ARG_LIBS})
    add_test(NAME ${name} COMMAND test.${name})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 120)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${ARG_LABELS}")
endfunction()
