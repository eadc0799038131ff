#!/usr/bin/env bash
# `make install` puts everything where it belongs, and a program outside can use it.
set -euo pipefail

root=${FA_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
passed=0
failed=0

check() { # NAME COMMAND...: the command must succeed
    local name=$1
    shift
    if "$@" >"$temp/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL: $name: $*"
        cat "$temp/log"
    fi
}

top=$temp/top
prefix=/usr/local
check "make install" make -C "$root" --no-print-directory install PREFIX=$prefix DESTDIR="$top"
version=$("$root/tools/version")
pc=$(find "$top" -name faina.pc)
lib=$(dirname "$(dirname "$pc")")

for file in bin/faina include/faina.h share/man/man1/faina.1 \
    share/bash-completion/completions/faina share/zsh/site-functions/_faina \
    share/fish/vendor_completions.d/faina.fish; do
    check "$file is installed" test -s "$top$prefix/$file"
done
for file in libfaina.a libfaina.so libfaina.so.0 "libfaina.so.$version" pkgconfig/faina.pc; do
    check "$file is installed" test -s "$lib/$file"
done
check "only one header is installed" \
    test "$(find "$top$prefix/include" -type f | wc -l)" = 1
strangers=$(find "$top" -type f -not -path "$top$prefix/*")
check "nothing lies outside the prefix" test -z "$strangers"
check "the program runs" "$top$prefix/bin/faina" version

share=$top$prefix/share
check "the completion is bash" bash -n "$share/bash-completion/completions/faina"
check "the completion is zsh" zsh -n "$share/zsh/site-functions/_faina"
check "the completion is fish" fish --no-execute "$share/fish/vendor_completions.d/faina.fish"
check "the manual page has no mistakes" \
    test -z "$(man --warnings -E UTF-8 -l "$share/man/man1/faina.1" 2>&1 >/dev/null)"

export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$top
check "pkg-config knows it" test "$(pkg-config --modversion faina)" = "$version"
read -ra cflags <<<"$(pkg-config --cflags faina)"
read -ra libs <<<"$(pkg-config --libs faina)"
read -ra others <<<"$(pkg-config --static --libs-only-l faina | sed 's/-lfaina //')"
check "a shared link needs no other library" test "${libs[*]: -1}" = -lfaina

# The header alone, as strict C and as C++.
printf '#include <faina.h>\nint main(void) { return FAINA_OK; }\n' >"$temp/use.c"
check "the header is strict C99" \
    cc -std=c99 -pedantic-errors -Wall -Wextra -Werror "${cflags[@]}" -fsyntax-only "$temp/use.c"
check "the header is C11" \
    cc -std=c11 -pedantic-errors -Wall -Wextra -Werror "${cflags[@]}" -fsyntax-only "$temp/use.c"
if command -v c++ >/dev/null; then
    check "the header is C++" \
        c++ -x c++ -Wall -Wextra -Werror "${cflags[@]}" -fsyntax-only "$temp/use.c"
fi

# The examples, built from the installed files only: shared, then static. Then they must work.
for source in "$root"/examples/*.c; do
    name=$(basename "$source" .c)
    check "$name links the shared library" \
        cc -Wall -Wextra -Werror "${cflags[@]}" "$source" "${libs[@]}" -pthread \
        -o "$temp/$name"
    check "$name links the archive" \
        cc -Wall -Wextra -Werror "${cflags[@]}" "$source" -L"$lib" \
        -Wl,-Bstatic -lfaina -Wl,-Bdynamic "${others[@]}" -pthread \
        -o "$temp/$name-static"
    check "$name-static needs no libfaina.so" \
        bash -c "! readelf -d '$temp/$name-static' | grep -q libfaina"
done
check "the examples run with the shared library" \
    env LD_LIBRARY_PATH="$lib" PRODUCER="$temp/producer" WORKER="$temp/worker" \
    "$root/tests/package/helper_examples.sh"
check "the examples run with the archive inside" \
    env PRODUCER="$temp/producer-static" WORKER="$temp/worker-static" \
    "$root/tests/package/helper_examples.sh"

echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
