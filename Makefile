# The porcelain: short names over CMakePresets.json. `make` lists them.
#
# Every target first installs what packaging/deps.txt lists for it and this machine lacks (tools/deps.sh).

JOBS := $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
# More arguments for what a target runs, e.g. `make test ARGS="-R queue"`, `make bench ARGS=--quick`.
ARGS ?=
# 201,000 seeded schedules of each scenario, 20 million operations of the queue's model test, a minute of stress.
SCALE ?= 67
STEPS ?= 1000000000
SECONDS ?= 60

C_FILES = $(shell find include src tests examples bench demo -name '*.[ch]' -o -name '*.cpp')
SCRIPTS = .ci/run $(shell find tools tests examples bench demo packaging -name '*.sh')

.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

configure = cmake --preset $(1)
build = cmake --build --preset $(1) --parallel $(JOBS)
# Most entries wait; those that compute take more than one of these places (cmake/WeirTest.cmake).
test = ctest --preset $(1) --parallel $$(($(PLACES) * $(JOBS))) $(ARGS)
PLACES = 4

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: deps-build ## build the program and run the main job on this machine's own files
	@$(call configure,install)
	@$(call build,install) --target weir_program
	@demo/run.sh build/install

.PHONY: cluster
cluster: deps-test ## three beanstalkds and a Redis: jobs while a node, Redis and a worker are killed; the ledger
	@$(call configure,install)
	@$(call build,install) --target weir_program
	@demo/cluster.sh build/install/src/weir $(ARGS)

.PHONY: chaos
chaos: SECONDS := 300
chaos: deps-test ## 20,000 jobs on a cluster while its servers and workers fail, 300 s (SECONDS=N: N seconds)
	@$(call configure,install)
	@$(call build,install) --target weir_program
	@tests/cluster/chaos.py build/install/src/weir $(SECONDS) $(ARGS)

.PHONY: interop
interop: deps-test ## weir beside programs with the conventions of go-queue's dq (needs Go)
	@$(call configure,install)
	@$(call build,install) --target weir_program
	@tests/interop/run.sh build/install/src/weir $(ARGS)

.PHONY: web web-check
web: ## web/dist, the page of `weir serve`, from its sources (needs npm)
	@tools/web.sh build
web-check: deps-web ## is web/dist what its sources give, and does the page work in a real browser? (needs npm)
	@$(call configure,install)
	@$(call build,install) --target weir_program
	@tools/web.sh check build/install/src/weir || [ $$? -eq 77 ] # it has said "SKIPPED: "

.PHONY: test
test: deps-test ## build everything and run every test
	@$(call configure,dev)
	@$(call build,dev)
	@$(call test,dev)

# The tests once more, in a build named like its preset.
.PHONY: release clang asan tsan tsan-clang
release: ## the tests, as released: -O2, debugging assertions off
clang: ## the tests with clang and its thread-safety analysis, but those of servers and of the schedule explorer
asan: ## the tests under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer
tsan: ## the tests under ThreadSanitizer (gcc)
tsan-clang: ## the tests under ThreadSanitizer (clang), but those of the schedule explorer
clang tsan-clang: deps-clang
# What waits in other builds computes in these.
asan tsan tsan-clang: PLACES = 2
# What these leave out finds nothing new with another compiler: servers are the same, and the explorer runs one thread at
# a time. asan, tsan and release leave out nothing.
clang: ARGS += --label-exclude 'cluster|schedules'
tsan-clang: ARGS += --label-exclude schedules
release clang asan tsan tsan-clang: deps-test
	@$(call configure,$@)
	@$(call build,$@)
	@$(call test,$@)

.PHONY: verify
verify: deps ## the long checks, those whose last run no longer holds (ARGS=--list; ARGS="planted chaos": these)
	@tools/verify.py $(ARGS)

.PHONY: campaigns
campaigns: deps-test ## the random tests, 67 times as long (SCALE=N: N times)
	@$(call configure,dev)
	@$(call build,dev)
	@tools/campaigns.sh build/dev $(SCALE)

.PHONY: clocks
clocks: deps-test ## the tests while the wall clock jumps by days, and on monotonic clocks far away
	@$(call configure,dev)
	@$(call build,dev)
	@tools/clock_faults.sh build/dev

.PHONY: call-faults
call-faults: deps-test ## let each system call of the program fail in turn, or kill it there (KINDS=put.,work.)
	@$(call configure,dev)
	@$(call build,dev)
	@tools/call_faults.py build/dev/src/weir $(KINDS)

.PHONY: bit-flips
bit-flips: deps-test ## damage stores at random: no command may hang, crash or run a damaged body (ROUNDS=N: N stores)
	@$(call configure,dev)
	@$(call build,dev)
	@tools/bit_flips.py build/dev/src/weir $(or $(ROUNDS),400)

.PHONY: planted
planted: deps-test ## plant bugs in copies of the sources: scenarios and unit tests must find each
	@$(call configure,dev)
	@$(call build,dev)
	@tools/planted.py build/dev

.PHONY: models
models: deps-models ## search the Promela models of queue, mutex and pool, and find the faults planted in them
	@tools/models.py build

.PHONY: model
model: deps-test ## 10^9 random operations on the queue and its reference (STEPS=N: N)
	@$(call configure,dev)
	@$(call build,dev) --target test.models.queue_model
	@tools/campaigns.sh build/dev "$$(awk 'BEGIN { printf "%.2f", $(STEPS) / 300000 + 0.01 }')" '/test\.models\.queue_model$$'

.PHONY: stress
stress: deps-test ## a minute of threads at queue and pool (SECONDS=7200: two hours)
	@$(call configure,dev)
	@$(call build,dev)
	@tools/stress.sh build/dev $(SECONDS)

.PHONY: fuzz
fuzz: deps-test deps-clang ## a minute of libFuzzer at each reader of foreign bytes (SECONDS=N: N seconds)
	@$(call configure,fuzz)
	@$(call build,fuzz) --target fuzz
	@tools/fuzz.sh build/fuzz $(SECONDS)

.PHONY: coverage
coverage: deps-coverage ## the tests, and which lines and branches of src/ they reached (docs/coverage.md)
	@# Begun anew: what was compiled from sources of another time would be counted too.
	@rm -rf build/coverage
	@$(call configure,coverage)
	@$(call build,coverage)
	@# Programs that a test runs as another user cannot write their counts, and need not say so.
	@GCOV_ERROR_FILE=/dev/null $(call test,coverage)
	@mkdir -p build/coverage/report
	@gcovr --root . --filter src/ --exclude '.*_test\.c' --exclude-unreachable-branches \
		--json build/coverage/report/report.json --html-details build/coverage/report/index.html \
		--print-summary build/coverage
	@tools/check_coverage.py build/coverage/report/report.json

.PHONY: croniter
croniter: deps-test ## cron expressions against python3-croniter in every time zone, for half a minute
	@$(call configure,dev)
	@$(call build,dev) --target test.croniter.list
	@WEIR_TEST_SCALE=6 tests/croniter/compare.py build/dev/tests/test.croniter.list

.PHONY: promtool
promtool: deps-test deps-prometheus ## let Prometheus' promtool judge the metrics, alerts and dashboards
	@$(call configure,dev)
	@$(call build,dev) --target test.conformance.promtool test.http.metrics
	@tools/promtool.sh build/dev

.PHONY: scrape
scrape: deps-test deps-prometheus ## do weir's panels and alerts, and those of Kubernetes, get data from a Prometheus?
	@$(call configure,install)
	@$(call build,install) --target weir_program
	@tests/prometheus/scrape.py build/install/src/weir

.PHONY: bench
bench: ## measure weir beside its peers, print the speed table (ARGS=--quick: 3 min)
	@tools/bench.sh $(ARGS)
.PHONY: man
man: ## make man/weir-COMMAND.1 of man/weir.1
	@tools/man_pages.py
.PHONY: bench-program
bench-program: deps-build ## measure the program: puts, runs, its endpoint (ARGS="--filter put")
	@$(call configure,install)
	@$(call build,install) --target weir_program
	@bench/program.py build/install/src/weir $(ARGS)

.PHONY: lint format format-check check tidy tidy-changed shellcheck
lint: format-check check shellcheck tidy ## all checks of the sources: the next four
format-check: deps-lint ## is every C file as clang-format has it?
	@clang-format --dry-run -Werror $(C_FILES)
check: deps-lint ## what the scripts tools/check_*.py hold (includes, sizes, texts, tables in documents), man pages
	@tools/check_includes.py
	@tools/check_sizes.py
	@tools/check_budgets.py
	@tools/check_text.py
	@tools/check_dashboards.py
	@tools/check_plants.py
	@tools/check_readme.py
	@tools/check_locks.py
	@tools/check_conformance.py
	@tools/check_bad_input.py
	@tools/check_names.py
	@tools/check_options.py
	@tools/check_fields.py
	@tools/check_ownership.py
	@tools/check_units.sh
	@tools/man_pages.py --check
	@mandoc -T lint -W warning man/*.[1-9]
shellcheck: deps-lint ## shellcheck of every script
	@shellcheck $(SCRIPTS)
tidy: deps-lint deps-clang ## clang-tidy
	@$(call configure,clang)
	@tools/tidy.sh build/clang
tidy-changed: deps-lint deps-clang ## clang-tidy of what has changed since the whole tree passed, and what includes it
	@$(call configure,clang)
	@tools/tidy.sh build/clang "$$(tools/changed.py)"
format: deps-lint ## let clang-format rewrite every C file
	@clang-format -i $(C_FILES)

.PHONY: docs
docs: deps-lint ## the API reference, build/docs/html; an undocumented name is an error
	@mkdir -p build/docs
	@doxygen Doxyfile
	@echo "build/docs/html/index.html"

.PHONY: install
install: deps-build ## install under PREFIX (/usr/local), inside DESTDIR where that is set
	@$(call configure,install) -D CMAKE_INSTALL_PREFIX='$(PREFIX)'
	@$(call build,install)
	@DESTDIR='$(DESTDIR)' cmake --install build/install

.PHONY: clean
clean: ## remove everything that was built
	@rm -rf build

.PHONY: deps
deps: ## install what all targets need
	@tools/deps.sh build test models clang coverage lint bench prometheus
deps-build:
	@tools/deps.sh build
deps-%:
	@tools/deps.sh build test $(filter-out test,$*)
