#!/usr/bin/env bash
# tools/install-deps: silent when all is there, one clear line when it can't help.
set -euo pipefail

root=${FA_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
passed=0
failed=0

equal() { # NAME GOT WANTED
    if [[ $2 == "$3" ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL: %s\n  got    %s\n  wanted %s\n' "$1" "$2" "$3"
    fi
}

# A PATH with these programs only, and those that a test puts in front.
mkdir "$temp/bin" "$temp/own"
for name in bash env cat true tail; do
    ln -s "$(type -P "$name")" "$temp/bin/$name"
done
fake() { # NAME SCRIPT
    printf '#!/bin/bash\n%s\n' "$2" >"$temp/own/$1"
    chmod +x "$temp/own/$1"
}
code=0
run() { # GROUP...: output in $out, exit code in $code
    code=0
    out=$(PATH=$temp/own:$temp/bin "$temp/install-deps" "$@" 2>&1) || code=$?
}

# EUID can't be set, so a copy of the script is told who it is.
as() {
    sed "s/EUID/$1/g" "$root/tools/install-deps" >"$temp/install-deps"
    chmod +x "$temp/install-deps"
}
all_installed='for name in "${@:4}"; do echo "installed $name"; done'
all_but_meson='for name in "${@:4}"; do [[ $name == meson ]] || echo "installed $name"; done; exit 1'

as 1000
fake apt-get 'echo "$*" >>"$APT_LOG"'
export APT_LOG=$temp/apt.log
fake dpkg-query "$all_installed"
run build run test bench fuzz style
equal "nothing missing: no word" "$code:$out" "0:"
run biuld
equal "an unknown group" "$code:${out%% (*}" "2:tools/install-deps: no group 'biuld'"

fake dpkg-query "$all_but_meson"
run build
equal "no root, no sudo: one line" "$code:$out" \
    "1:Packages are missing. Run as root: apt-get install -y meson"
fake sudo 'exit 1'
run build
equal "sudo wants a password: one line" "$code:$out" \
    "1:Packages are missing. Run as root: apt-get install -y meson"
equal "apt-get was not called" "$(cat "$APT_LOG" 2>/dev/null)" ""

fake sudo '[[ $1 == -n ]] && shift; exec "$@"'
run build
equal "with sudo" "$code:$out" "0:Installing: meson"
equal "only what is missing" "$(cat "$APT_LOG")" \
    "-qq -o Dpkg::Use-Pty=0 update
-qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends meson"

as 0
fake apt-get 'exit 100'
run build
equal "apt-get fails" "$code:$(tail -n 1 <<<"$out")" \
    "1:Could not install packages. Run as root: apt-get update && apt-get install -y meson"

rm "$temp/own/dpkg-query"
fake pkg-config 'exit 1'
for name in cc make ninja scdoc python3; do
    fake "$name" ''
done
run build
equal "not Debian: one line" "$code:$out" \
    "1:This is not Debian. Please install: meson, sqlite3 (library, with headers), libpq (library, with headers), yajl (library, with headers), libcrypto (library, with headers), libssl (library, with headers), libcurl (library, with headers), libnats (library, with headers), zlib (library, with headers), yaml-0.1 (library, with headers), librabbitmq (library, with headers)"
fake meson ''
fake pkg-config ''
run build
equal "not Debian, all there: no word" "$code:$out" "0:"

echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
