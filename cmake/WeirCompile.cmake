# The language, the warnings, the hardening and the sanitizers, in one interface target: weir_compile.
add_library(weir_compile INTERFACE)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# -O2 in every optimised build (-O3 for the queue in a release: src/CMakeLists.txt), and our assertions decided by NDEBUG alone.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

target_compile_definitions(weir_compile INTERFACE _POSIX_C_SOURCE=200809L
    $<$<BOOL:${WEIR_PROBES}>:WEIRI_PROBES>)
target_include_directories(weir_compile INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(weir_compile INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes
    -Wundef -Wformat=2 -Wvla
    $<$<C_COMPILER_ID:Clang>:-Wthread-safety>
    $<$<BOOL:${WEIR_WERROR}>:-Werror>)
# A release names no folder of the machine that built it.
target_compile_options(weir_compile INTERFACE $<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
target_link_libraries(weir_compile INTERFACE Threads::Threads)

if(WEIR_SANITIZE)
    target_compile_options(weir_compile INTERFACE
        -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(weir_compile INTERFACE -fsanitize=${WEIR_SANITIZE})
elseif(NOT WEIR_COVERAGE)
    target_compile_options(weir_compile INTERFACE
        -fstack-protector-strong -fstack-clash-protection
        $<$<C_COMPILER_ID:GNU>:-ftrivial-auto-var-init=zero>
        $<$<NOT:$<OR:$<CONFIG:Debug>,$<BOOL:$<TARGET_PROPERTY:WEIR_UNOPTIMISED>>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
    target_link_options(weir_compile INTERFACE -Wl,-z,relro,-z,now)
endif()
if(WEIR_FUZZ)
    # What a fuzzer sees of the code it drives.
    target_compile_options(weir_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(WEIR_COVERAGE)
    target_compile_options(weir_compile INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(weir_compile INTERFACE --coverage)
endif()

# What was compiled before comes from ccache, where that is installed.
find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${WEIR_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${WEIR_CCACHE})
endif()

# A target whose bodies are not worth optimising: most of the time of a build went into those of tests.
function(weir_unoptimised target)
    set_target_properties(${target} PROPERTIES WEIR_UNOPTIMISED ON)
    target_compile_options(${target} PRIVATE -O0)
endfunction()

# The sources of a room: every .c file there but its unit tests.
function(weir_room_sources ret_sources room)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
    list(FILTER sources EXCLUDE REGEX "_test\\.c$")
    set(${ret_sources} ${sources} PARENT_SCOPE)
endfunction()
