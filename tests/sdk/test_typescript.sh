#!/bin/sh
# Plays sdk/scenarios/*.json with the TypeScript library, and checks that its built files are those of its sources.
set -eu
root=${FA_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
place=${FA_BUILD:-$root/build}/sdk-typescript
mkdir -p "$place"
mkdir -p "$place/dev"
cp -r "$root/sdk/typescript/package.json" "$root/sdk/typescript/tsconfig.json" "$root/sdk/typescript/src" "$place"
cp "$root/sdk/typescript/dev/package.json" "$place/dev"
cd "$place"
rm -rf dist
[ -x dev/node_modules/.bin/tsc ] ||
    npm --prefix dev install --no-audit --no-fund --no-package-lock --loglevel=error >/dev/null
dev/node_modules/.bin/tsc
if ! diff -r dist "$root/sdk/typescript/dist"; then
    echo "sdk/typescript/dist is not what its sources build: run npm run build there"
    exit 1
fi
exec node "$root/tests/sdk/helper_play.mjs"
