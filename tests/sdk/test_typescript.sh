#!/bin/sh
# Plays sdk/scenarios/*.json with the TypeScript library.
set -eu
root=${FA_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
"$root/tools/build-sdk"
exec node "$root/tests/sdk/helper_play.mjs"
