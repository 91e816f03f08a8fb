#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Installs what packaging/deps.txt lists and this machine lacks.
#
#   tools/deps.sh GROUP...           install what is missing of these groups
#   tools/deps.sh --missing GROUP... only print what is missing; exit 1 when that is anything
#
# A machine that has everything is left alone: no root, no network, nothing printed. Where there is no apt, the
# missing tools cannot be told, so the list is printed for the reader to install by other means, once; set
# WEIR_DEPS=skip to go on without.
set -eu

cd "$(dirname "$0")/.."
list=packaging/deps.txt

only_missing=no
if [ "${1:-}" = --missing ]; then
    only_missing=yes
    shift
fi
if [ $# -eq 0 ]; then
    echo "usage: tools/deps.sh [--missing] GROUP..." >&2
    exit 64
fi
if [ "${WEIR_DEPS:-}" = skip ]; then
    exit 0
fi

wanted=
for group in "$@"; do
    packages=$(awk -v group="$group" '$1 == group { print $2 }' "$list")
    if [ -z "$packages" ]; then
        echo "tools/deps.sh: no group '$group' in $list" >&2
        exit 64
    fi
    wanted="$wanted $packages"
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    {
        echo "tools/deps.sh: no apt here. Install the counterparts of these Debian packages:"
        # shellcheck disable=SC2086 # a list of words
        printf '  %s\n' $wanted
        echo "and then run again with WEIR_DEPS=skip in the environment."
    } >&2
    exit 69
fi

# dpkg-query exits 1 for packages it has never heard of; those are missing like any other.
# shellcheck disable=SC2086 # a list of words
installed=$(dpkg-query -W -f '${Status} ${Package}\n' $wanted 2>/dev/null |
    sed -n 's/^install ok installed //p' || true)
missing=
for package in $wanted; do
    if ! printf '%s\n' "$installed" | grep -qxF "$package"; then
        missing="$missing $package"
    fi
done
if [ -z "$missing" ]; then
    exit 0
fi
if [ "$only_missing" = yes ]; then
    # shellcheck disable=SC2086 # a list of words
    printf '%s\n' $missing
    exit 1
fi

root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "tools/deps.sh: these packages are missing, and only root can install them:$missing" >&2
        exit 77
    fi
    root=sudo
fi

echo "Installing (packaging/deps.txt):$missing"

log=$(mktemp)
policy=/usr/sbin/policy-rc.d
own_policy=no
# shellcheck disable=SC2317 # called by the trap
clean_up() {
    rm -f "$log"
    if [ "$own_policy" = yes ]; then
        $root rm -f "$policy"
    fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# A package that comes with a server must not start it here. Debian's hook for that is a file that says no; one
# that is already there belongs to the machine and stays.
if [ ! -e "$policy" ]; then
    own_policy=yes
    printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
    $root chmod 755 "$policy"
fi

# shellcheck disable=SC2086 # $missing is a list of words
apt_install() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q -y \
        install --no-install-recommends $missing </dev/null
}

# The package index may be absent or old on a fresh image; it is fetched only when the install fails without it.
if ! apt_install >"$log" 2>&1; then
    if ! { $root apt-get -o DPkg::Lock::Timeout=300 -q update && apt_install; } >"$log" 2>&1; then
        cat "$log" >&2
        echo "tools/deps.sh: could not install:$missing" >&2
        exit 69
    fi
fi
