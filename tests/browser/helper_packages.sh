#!/usr/bin/env bash
# Installs the packages of package-lock.json, once. Concurrent calls wait for each other.
set -euo pipefail
cd "$(dirname "$0")"

exec 7<package-lock.json
flock 7
wanted=$(sha256sum package-lock.json | cut -d ' ' -f 1)
if [[ $(cat node_modules/.faina 2>/dev/null) != "$wanted" ]]; then
    log=$(mktemp)
    npm ci --ignore-scripts --no-audit --no-fund >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
    rm -f "$log"
    echo "$wanted" >node_modules/.faina
fi
