#!/usr/bin/env bash
# The examples at $PRODUCER and $WORKER do what their comments say. test_install.sh calls this for
# those that it has built from the installed files; e2e/test_examples.py looks closer.
set -euo pipefail

producer=$PRODUCER
worker=$WORKER
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
url=sqlite:$temp/example.db
passed=0
failed=0

equal() { # NAME GOT WANTED
    if [[ $2 == "$3" ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL: %s\n  got    %s\n  wanted %s\n' "$1" "$2" "$3"
        cat "$temp/errors"
    fi
}
run() { # PROGRAM ARGUMENT...: output in $out, exit code in $code
    code=0
    out=$("$@" 2>"$temp/errors") || code=$?
}

run "$producer" "$url" 12
equal "the producer ends well" "$code" 0
equal "the producer prints each id" "$(wc -l <<<"$out")" 12
first=$out
run "$producer" "$url" 12
equal "the producer may run again" "$code" 0
equal "the same tasks, and it says so" "$out" "$(sed 's/$/ (was there already)/' <<<"$first")"

run "$worker" "$url" 13 # 7 fails at first, and so is claimed twice
equal "the worker ends well" "$code" 0
equal "all numbers are squared" \
    "$(sed -n 's/.*{"square":\([0-9]*\)}.*/\1/p' <<<"$out" | sort -n | tr '\n' ' ')" \
    "1 4 9 16 25 36 49 64 81 100 121 144 "
equal "one failed at first" "$(grep -c failed <<<"$out")" 1
run "$worker" "$url" 1
equal "nothing is left to do" "$code:$out" "0:"

run "$producer"
equal "the producer explains itself" "$code:$(head -c 6 "$temp/errors")" "2:usage:"
run "$worker"
equal "the worker explains itself" "$code:$(head -c 6 "$temp/errors")" "2:usage:"
run "$worker" "sqlite:/no/such/folder/x.db" 1
equal "no such folder" "$code:$(head -c 7 "$temp/errors")" "1:worker:"

echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
