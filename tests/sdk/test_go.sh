#!/bin/sh
# Plays sdk/scenarios/*.json with the Go library, and checks the library with gofmt and go vet.
set -eu
root=${FA_SOURCE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${FA_BUILD:-$root/build}
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE="$build/go-cache"
cd "$root/sdk/go"
unformatted=$(gofmt -l . "$root/tests/sdk/play_go")
[ -z "$unformatted" ] || { echo "gofmt: $unformatted"; exit 1; }
go vet ./...
go test .
cd "$root/tests/sdk/play_go"
go build -o "${TMPDIR:-/tmp}/play" .
exec "${TMPDIR:-/tmp}/play" "$root"/sdk/scenarios/*.json
