# Faina. A thin front: tools/build knows meson, tools/run-tests knows the suites. `make help`.

PREFIX ?= /usr/local
DESTDIR ?=
export BUILD ?= build
ONLY ?=
FLAVOURS ?= plain asan tsan
FUZZ_SECONDS ?= 60
SOAK_SHARE ?=
SOAK_MINUTES ?=
BENCH_ARGS ?=
SERVE_ARGS ?=
EXAMPLES ?=
EXAMPLE ?=

.PHONY: all build run tests test check-style format bench fuzz soak install deb dist docs clean help
.DEFAULT_GOAL := all

all: build

build:
	@tools/install-deps build
	@tools/build plain all
	@tools/build-sdk

run: build
	@$(if $(filter vault,$(EXAMPLE)),tools/install-deps build vault && tools/build plain all vault)
	@exec $(if $(EXAMPLE),examples/$(EXAMPLE)/run,$(if $(EXAMPLES),examples/run)) \
	    $(BUILD)/faina serve $(SERVE_ARGS)

tests:
	@tools/install-deps build test
	@tools/build plain all tests

test:
	@tools/install-deps build test
	@tools/run-tests --flavours "$(FLAVOURS)" $(ONLY)

check-style:
	@tools/install-deps build style
	@tools/check-style

format:
	@tools/install-deps style
	@tools/check-style --format

bench:
	@tools/install-deps build bench
	@tools/build plain all bench vault
	@tools/run-bench $(BENCH_ARGS)

fuzz:
	@tools/install-deps build fuzz
	@tools/build fuzz tests
	@tools/run-fuzz --seconds $(FUZZ_SECONDS) $(ONLY)

soak:
	@tools/install-deps build test fuzz
	@SOAK_SHARE=$(SOAK_SHARE) SOAK_MINUTES=$(SOAK_MINUTES) tools/run-soak $(ONLY)

install: build
	@tools/install "$(PREFIX)" "$(DESTDIR)"

deb:
	@tools/install-deps deb
	@tools/build-deb

docs:
	@tools/install-deps docs
	@tools/build-docs

dist:
	@tools/install-deps build
	@tools/build-dist

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz

help:
	@echo 'make                build/faina, build/libfaina.so, build/libfaina.a'
	@echo 'make run            start the server on 127.0.0.1:7070, with sqlite:faina.db'
	@echo '                    EXAMPLES=1 with the handlers and workers of examples/, and some tasks'
	@echo '                    EXAMPLE=vault with those of examples/vault'
	@echo 'make test           every suite, plain and under ASan+UBSan and TSan'
	@echo '                    ONLY=unit/base runs what has this in its name, FLAVOURS=plain one build'
	@echo 'make tests          only build the test programs, plain: build/tests/'
	@echo 'make check-style    formatting, include direction, banned calls'
	@echo 'make format         let clang-format rewrite the sources'
	@echo 'make bench          measure; BENCH_ARGS=... goes to the benchmarks'
	@echo 'make fuzz           each fuzz target for FUZZ_SECONDS=60; ONLY=json one of them'
	@echo 'make soak           the figures of docs/reliability.md, as a table; takes hours'
	@echo '                    SOAK_SHARE=0.01 or SOAK_MINUTES=30 does a part, ONLY=sqlite some rows'
	@echo 'make install        PREFIX=/usr/local DESTDIR='
	@echo 'make deb            Debian packages in build/deb/: faina, libfaina0, libfaina-dev'
	@echo 'make docs           the manual as a site: build/manual/site/index.html'
	@echo 'make dist           a source tarball in build/, the same bytes for the same commit'
	@echo 'make clean          remove the build folders'
	@echo
	@echo 'BUILD=dir uses another folder than build/ (and dir-asan/, dir-tsan/, dir-fuzz/).'
