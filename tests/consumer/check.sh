#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# One way of using weir from outside its tree, as ctest asks for it (CMakeLists.txt beside this file):
#   check.sh tree BUILD STAGE           installs BUILD below STAGE and looks at every installed file
#   check.sh find_package STAGE WORK    builds and runs project/ with CMake against STAGE
#   check.sh pkg_config STAGE WORK      the same with pkg-config and the bare compiler
#   check.sh add_subdirectory SRC WORK  the same with weir's sources inside the project
#   check.sh alone SRC WORK             builds, installs and uses libweir alone where hardly a command is installed
#   check.sh fetch_content SRC WORK     the same with weir's sources inside the project, which sets no option
# and as CI does, who packages weir being the one who uses it:
#   check.sh make_install ROOT          `make install` into ROOT with PREFIX=/usr
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${CC:=cc}" "${CXX:=c++}"
export CC CXX

fail() {
    echo "$*" >&2
    exit 1
}

# expect_file FILE: names what an installation must have.
expect_file() {
    [ -f "$1" ] || fail "not installed: $1"
}

# run_consumer PROGRAM: each program gets a new folder for its store.
run_consumer() {
    store=$(mktemp -d "$work/store.XXXXXX")
    output=$("$1" "$store") || fail "$1: $output"
    [ "$output" = works ] || fail "$1 printed '$output'"
    echo "ok $1"
}

# check_units FOLDER PROGRAM: does each unit run PROGRAM?
check_units() {
    for unit in weir.service weir-serve.service weir-work@.service; do
        expect_file "$1/$unit"
    done
    [ "$(grep -cE "^Exec(Start|StartPre)=$2 " "$1/weir.service")" -eq 2 ] || fail "weir.service does not run $2"
    if grep -E '^Exec(Start|StartPre)=' "$1"/*.service | grep -vF "=$2 "; then
        fail "these units do not run $2"
    fi
}

# check_completions SHARE: does each shell that is installed read its own?
check_completions() {
    bash=$1/bash-completion/completions/weir
    zsh=$1/zsh/site-functions/_weir
    fish=$1/fish/vendor_completions.d/weir.fish
    for script in "$bash" "$zsh" "$fish"; do
        expect_file "$script"
        [ -s "$script" ] || fail "empty: $script"
    done
    if command -v bash >/dev/null; then
        bash -c '. "$1" && complete -p weir' check "$bash" >/dev/null || fail "bash does not read $bash"
    fi
    [ "$(head -n 1 "$zsh")" = '#compdef weir' ] || fail "zsh does not take $zsh for the completion of weir"
    if command -v zsh >/dev/null; then
        zsh -n "$zsh" || fail "zsh does not read $zsh"
    fi
    if command -v fish >/dev/null; then
        fish -n "$fish" || fail "fish does not read $fish"
    fi
}

# check_shared SHARE WEIR: what helps to use weir. WEIR: the installed program.
check_shared() {
    doc=$1/doc/weir
    cmp "$here/../../LICENSE" "$doc/LICENSE" || fail "the licence is not installed"
    for example in "$here"/../../examples/*.c "$here/../../examples/shell.sh"; do
        cmp "$example" "$doc/examples/$(basename "$example")" || fail "an example is not installed"
    done
    [ -x "$doc/examples/shell.sh" ] || fail "not executable: $doc/examples/shell.sh"
    for server in beanstalkd redis-server; do
        expect_file "$doc/examples/systemd/$server.service.d/weir.conf"
    done
    expect_file "$doc/examples/weir.conf"
    # Its programs are the reader's.
    conf=$(mktemp)
    sed 's|/usr/local/lib/weir/[a-z-]*|true|' "$doc/examples/weir.conf" >"$conf"
    "$2" config check "$conf" || fail "$doc/examples/weir.conf has faults"
    rm "$conf"
    expect_file "$1/weir/prometheus/weir.rules.yml"
    if command -v promtool >/dev/null; then
        promtool check rules "$1/weir/prometheus/weir.rules.yml" || fail "promtool refuses the rules"
    fi
    python3 -m json.tool "$1/weir/grafana/weir-jobs.json" >/dev/null || fail "the dashboard is not installed, or no JSON"
    check_completions "$1"
}

check_tree() {
    build=$1
    stage=$2
    # Installed in one place and moved to another: nothing may remember where it was put first.
    rm -rf "$stage" "$stage.first"
    cmake --install "$build" --prefix "$stage.first" >"$stage.log" || fail "$(cat "$stage.log")"
    # Units have no relative paths.
    check_units "$stage.first/lib/systemd/system" "$stage.first/bin/weir"
    if command -v systemd-analyze >/dev/null; then
        said=$(systemd-analyze verify --man=no "$stage.first"/lib/systemd/system/*.service 2>&1) || true
        [ -z "$said" ] || fail "$said"
    fi
    mv "$stage.first" "$stage"

    (cd "$here/../../include" && find weir -name '*.h' | sort) >"$stage.expected"
    (cd "$stage/include" && find . -type f | sed 's|^\./||' | sort) >"$stage.found"
    diff "$stage.expected" "$stage.found" || fail "the installed headers are not those of include/"

    lib=$(dirname "$(find "$stage" -name libweir.a)")
    for name in libweir libweir-jobs; do
        expect_file "$lib/$name.a"
        expect_file "$lib/$name.so.0.1"
        expect_file "$lib/pkgconfig/$name.pc"
        [ -L "$lib/$name.so" ] || fail "not a link: $lib/$name.so"
    done
    expect_file "$lib/cmake/weir/weirConfig.cmake"
    for page in "$here"/../../man/*.[157]; do
        expect_file "$stage/share/man/man${page##*.}/$(basename "$page")"
    done
    if grep -rlF "$stage.first" "$lib/pkgconfig" "$lib/cmake"; then
        fail "these files name the folder of their installation"
    fi
    "$stage/bin/weir" --version
    check_shared "$stage/share" "$stage/bin/weir"
}

check_find_package() {
    stage=$1
    cmake -S "$here/project" -B "$work/build" -G Ninja -D CMAKE_PREFIX_PATH="$stage"
    cmake --build "$work/build"
    for kind in shared static; do
        run_consumer "$work/build/${kind}_c"
        run_consumer "$work/build/${kind}_cpp"
    done
    # 0.1 does not serve who asks for 0.2.
    sed 's/find_package(weir 0.1/find_package(weir 0.2/' "$here/project/CMakeLists.txt" >"$work/CMakeLists.txt"
    if cmake -S "$work" -B "$work/newer" -G Ninja -D CMAKE_PREFIX_PATH="$stage" >"$work/newer.log" 2>&1; then
        fail "find_package(weir 0.2) accepted version 0.1"
    fi
    grep -q 'considered but not accepted' "$work/newer.log" || fail "$(cat "$work/newer.log")"
}

check_pkg_config() {
    stage=$1
    lib=$(dirname "$(find "$stage" -name libweir.a)")
    PKG_CONFIG_PATH=$lib/pkgconfig
    LD_LIBRARY_PATH=$lib
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
    # shellcheck disable=SC2046 # flags are words
    {
        "$CC" -std=c11 "$here/project/consumer.c" -o "$work/shared_c" $(pkg-config --cflags --libs libweir-jobs)
        "$CXX" -std=c++17 "$here/project/consumer.cpp" -o "$work/shared_cpp" $(pkg-config --cflags --libs libweir-jobs)
        "$CC" -std=c11 "$here/project/consumer.c" -o "$work/static_c" \
            -static $(pkg-config --static --cflags --libs libweir-jobs)
    }
    for program in shared_c shared_cpp static_c; do
        run_consumer "$work/$program"
    done
    for example in "$stage"/share/doc/weir/examples/*.c; do
        if [ "$(basename "$example")" != libuv_loop.c ] || pkg-config --exists libuv; then
            # shellcheck disable=SC2046 # flags are words
            "$CC" -std=c11 -D_POSIX_C_SOURCE=200809L -fsyntax-only "$example" $(pkg-config --cflags libweir-jobs) ||
                fail "$example does not compile"
        fi
    done
    # Whoever links the shared library needs no package of those that it uses, nor folders of their headers.
    alone=$(PKG_CONFIG_LIBDIR=$lib/pkgconfig pkg-config --cflags --libs libweir-jobs) || fail "libweir-jobs.pc: $alone"
    flags=$(pkg-config --cflags libweir-jobs)
    [ "$flags" = "$(pkg-config --cflags libweir)" ] || fail "libweir-jobs.pc asks for more than weir's headers: $flags"
    # libweir alone must not drag in SQLite, nor anything else.
    libs=$(pkg-config --static --libs libweir)
    case $libs in
    *sqlite*) fail "libweir.pc asks for SQLite: $libs" ;;
    esac
    needed=$(readelf -d "$lib/libweir.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|ld-linux.*)\.so(\.[0-9]+)$' || true)
    [ -z "$needed" ] || fail "libweir.so needs more than libc: $needed"
}

check_add_subdirectory() {
    source=$1
    cmake -S "$here/project" -B "$work/build" -G Ninja -D WEIR_SOURCE="$source" -D CMAKE_BUILD_TYPE=Debug
    cmake --build "$work/build" --target shared_c shared_cpp
    if grep -E '^(POPT|MICROHTTPD)' "$work/build/CMakeCache.txt"; then
        fail "what the program needs was looked for without WEIR_PROGRAM"
    fi
    run_consumer "$work/build/shared_c"
    run_consumer "$work/build/shared_cpp"
}

# A PATH of cmake, make, cc, ld and ar. What cc itself runs, and looks for in PATH, is told to cc alone.
make_path() {
    mkdir "$work/bin" "$work/of_cc"
    for command in cmake make ld ar; do
        ln -s "$(command -v "$command")" "$work/bin/$command"
    done
    ln -s "$(command -v "$CC")" "$work/bin/cc"
    ln -s "$(command -v as)" "$work/of_cc/as"
}

# with_path COMMAND...: in that PATH, with nothing else in the environment.
with_path() {
    env -i PATH="$work/bin" COMPILER_PATH="$work/of_cc" "$@"
}

# build_alone SOURCE BUILD OPTION...: CMake finds commands in that PATH only.
build_alone() {
    source=$1 build=$2
    shift 2
    with_path cmake -S "$source" -B "$build" -G 'Unix Makefiles' -D CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF \
        -D CMAKE_BUILD_TYPE=Debug "$@"
    with_path cmake --build "$build" --parallel 2
    if grep PKG_CONFIG "$build/CMakeCache.txt"; then
        fail "pkg-config was looked for"
    fi
}

run_alone() {
    "$1/hello_queue" | diff "$here/../../examples/expected/hello_queue.txt" - || fail "$1/hello_queue does not work"
}

check_alone() {
    make_path
    build_alone "$1" "$work/weir" -D WEIR_JOBS=OFF
    with_path cmake --install "$work/weir" --prefix "$work/stage"
    found=$(find "$work/stage" -name '*jobs*' -o -path '*/bin/*' -o -path '*/man1/*')
    [ -z "$found" ] || fail "installed without WEIR_JOBS: $found"
    (cd "$work/stage/include" && for header in weir/*.h; do echo "#include <$header>"; done) >"$work/headers.c"
    "$CC" -std=c11 -fsyntax-only -I"$work/stage/include" "$work/headers.c" || fail "a header is missing"
    build_alone "$here/alone" "$work/build" -D CMAKE_PREFIX_PATH="$work/stage"
    run_alone "$work/build"
    # Where everything is installed it is the same.
    cmake -S "$here/alone" -B "$work/found" -G Ninja -D CMAKE_PREFIX_PATH="$work/stage"
    # What needs a part that is left out is refused.
    for part in WEIR_PROGRAM WEIR_TESTS WEIR_EXAMPLES; do
        if cmake -S "$1" -B "$work/refused" -D WEIR_JOBS=OFF -D "$part=ON" >"$work/refused.log" 2>&1; then
            fail "$part is accepted without what it needs"
        fi
        grep -q "$part is ON and needs" "$work/refused.log" || fail "$(cat "$work/refused.log")"
        rm -rf "$work/refused"
    done
}

check_fetch_content() {
    make_path
    build_alone "$here/alone" "$work/build" -D WEIR_SOURCE="$1"
    run_alone "$work/build"
}

check_make_install() {
    rm -rf "$1"
    mkdir -p "$1"
    root=$(cd "$1" && pwd)
    make -C "$here/../.." install DESTDIR="$root" PREFIX=/usr
    expect_file "$root/usr/include/weir/weir.h"
    expect_file "$(find "$root/usr/lib" -name libweir.pc)"
    outside=$(find "$root" -type f -not -path "$root/usr/*")
    [ -z "$outside" ] || fail "installed outside of PREFIX: $outside"
    "$root/usr/bin/weir" --version
    check_units "$root/usr/lib/systemd/system" /usr/bin/weir
    check_shared "$root/usr/share" "$root/usr/bin/weir"
    tree=$(cd "$here/../.." && pwd)
    if grep -rlF "$tree/" "$root/usr"; then
        fail "these files name the folder that they were built in"
    fi
    # Where Debian has its libraries, the package's paths must still lead from itself to them.
    flags=$(PKG_CONFIG_LIBDIR=$(dirname "$(find "$root/usr" -name libweir.pc)") pkg-config --variable=includedir libweir)
    expect_file "$flags/weir/weir.h"
}

if [ "$1" = tree ]; then
    check_tree "$2" "$3"
elif [ "$1" = make_install ]; then
    check_make_install "$2"
else
    work=$3
    rm -rf "$work"
    mkdir -p "$work"
    "check_$1" "$2"
fi
