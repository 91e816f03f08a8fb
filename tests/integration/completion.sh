#!/usr/bin/env bash
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# What the scripts of `weir completion` offer, in the shells that are installed.
#
#   tests/integration/completion.sh WEIR    WEIR: the program
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(realpath "$1")" "$folder/weir"
export PATH="$folder:$PATH" WEIR_BROKER="sqlite:$folder/jobs.db" HOME="$folder"
weir put mail hello >/dev/null
weir put images/large photo >/dev/null

failed=0
# expect WHAT EXPECTED FOUND: the same words, in any order?
expect() {
    # shellcheck disable=SC2086 # lists of words
    if [ "$(printf '%s\n' $2 | sort)" != "$(printf '%s\n' $3 | sort)" ]; then
        echo "$1: found '$3', expected '$2'" >&2
        failed=1
    fi
}

# shellcheck disable=SC1090 # it is made here
source <(weir completion bash)
# What bash offers for the last of these words.
offer() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _weir
    echo "${COMPREPLY[*]-}"
}
expect 'bash, commands' 'pause policy put' "$(offer weir p)"
expect 'bash, options' '--unique= --unique-for=' "$(offer weir put --uni)"
expect 'bash, flags' '--json' "$(offer weir stats --js)"
expect 'bash, tubes' 'images/large mail' "$(offer weir work '')"
expect 'bash, a tube' 'mail' "$(offer weir stats ma)"
expect 'bash, ids' '1 2' "$(offer weir why '')"
expect 'bash, ids of cancel' '1 2' "$(offer weir cancel '')"
expect 'bash, help' 'repair resume rm run' "$(offer weir help r)"
expect 'bash, nothing' '' "$(offer weir serve x)"

if command -v fish >/dev/null; then
    weir completion fish >"$folder/weir.fish"
    fish_offer() {
        fish -c "source $folder/weir.fish; complete -C '$1'" | cut -f1 | tr '\n' ' '
    }
    expect 'fish, commands' 'pause policy put' "$(fish_offer 'weir p')"
    expect 'fish, options' '--unique --unique-for' "$(fish_offer 'weir put --uni' | tr -d =)"
    expect 'fish, tubes' 'mail' "$(fish_offer 'weir stats ma')"
    expect 'fish, ids' '1 2' "$(fish_offer 'weir why ')"
else
    echo "SKIPPED: fish is not installed" >&2
fi
if command -v zsh >/dev/null; then
    weir completion zsh >"$folder/weir.zsh"
    found=$(zsh -f -c "autoload -U compinit && compinit -u -d $folder/dump; source $folder/weir.zsh; echo \$_comps[weir]")
    expect 'zsh, what completes weir' '_bash_complete -o default -F _weir' "$found"
    mkdir "$folder/functions"
    cp "$folder/weir.zsh" "$folder/functions/_weir"
    found=$(zsh -f -c "fpath=($folder/functions \$fpath); autoload -U compinit && compinit -u -d $folder/dump2; echo \$_comps[weir]")
    expect 'zsh, what completes weir, from a file of fpath' '_weir' "$found"
else
    echo "SKIPPED: zsh is not installed" >&2
fi
exit $failed
