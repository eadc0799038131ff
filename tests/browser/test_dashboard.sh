#!/usr/bin/env bash
# The dashboard in Debian's chromium, against real servers: the files case_*.mjs, one after the other.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/helper_packages.sh"
exec node "$here/helper_run.mjs" "$@"
