# pyrec - record, convert and question profiles of Python programs.
# `make help` lists the targets.

CC      ?= cc
AR      ?= ar
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include
SHAREDIR ?= $(PREFIX)/share
MANDIR  ?= $(SHAREDIR)/man
ZSHDIR  ?= $(SHAREDIR)/zsh/site-functions
DOCDIR  ?= $(SHAREDIR)/doc/pyrec
WERROR  ?= 0
SAN     ?=
V       ?= 0

VERSION := $(shell sed -n 's/.*PYREC_VERSION "\(.*\)"/\1/p' include/pyrec/version.h)

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
       -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
       -Wcast-align -Wcast-qual -Wpointer-arith -Wwrite-strings -Wformat=2 \
       -Wundef -Wvla -Wnull-dereference -Wdouble-promotion -Wswitch-enum \
       -Wno-missing-field-initializers
ifeq ($(WERROR),1)
WARN += -Werror
endif

comma := ,
# Each combination of flags builds in a folder of its own; the programs of the
# plain build are also what build/pyrec, build/pyconv and build/pyquery are.
# A frame stays far below the smallest stack of a thread; those of sanitizers are
# larger.
ifeq ($(SAN),)
WARN   += -Wframe-larger-than=24000
B      := build
HARDEN := -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
LINK   := -pie -Wl,-z,relro,-z,now,-z,noexecstack
else
B      := build/$(subst $(comma),-,$(SAN))
HARDEN := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LINK   := -pie -fsanitize=$(SAN)
endif
LINK   += $(LDFLAGS)
# All objects go into the shared library as well.  What they call of each other
# is not replaceable there, so that they are as fast as in a program.  The paths
# in them are those of the tree: a build is the same wherever it stands.
HARDEN += -fPIC -fno-semantic-interposition '-ffile-prefix-map=$(CURDIR)=.'
ROOMS ?= format recorder converter query
STD    = -std=c11 -D_GNU_SOURCE -Iinclude -I.
ALL_CFLAGS = $(STD) $(WARN) $(HARDEN) $(CPPFLAGS) $(CFLAGS) -MMD -MP -pthread

PROGRAMS := $(if $(filter recorder,$(ROOMS)),pyrec) \
            $(if $(filter converter,$(ROOMS)),pyconv) \
            $(if $(filter query,$(ROOMS)),pyquery)
MAINS    := recorder/pyrec.c converter/pyconv.c query/pyquery.c
# The files beside each program's main() are the program's: they have options
# and messages, so they are not in the library.
SOURCES  := $(wildcard include/base/*.c) \
            $(foreach room,$(ROOMS),$(wildcard $(room)/*.c $(room)/*/*.c))
PROG_SRC := $(filter-out $(MAINS),$(filter $(SOURCES), \
            $(wildcard recorder/*.c converter/*.c query/*.c query/live/*.c \
            query/talk/*.c)))
LIB_SRC  := $(filter-out $(MAINS) $(PROG_SRC),$(SOURCES))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/obj/%.o) \
            $(if $(filter converter,$(ROOMS)),$(B)/obj/converter/page/page_assets.o)
LIB      := $(B)/libpyrec.a
PROG_OBJ := $(PROG_SRC:%.c=$(B)/obj/%.o)
PROG     := $(B)/obj/programs.a
ALL_LIB  := $(PROG) $(LIB)
LIBS     := -lsqlite3 -lzstd -lz -lelf -lm

ifeq ($(V),0)
Q := @
say = @echo "  $(1)	$(2)"
endif

.PHONY: all
all: $(PROGRAMS:%=$(B)/%) ## build the programs and libpyrec.a into build/

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# What the page is made of, in the order in which its scripts run.
PAGE := $(addprefix converter/page/,page.html page.css text.js columns.js \
        profile.js calls.js selection.js sums.js groups.js changes.js \
        flame.js timeline.js table.js source.js heading.js save.js main.js)
$(B)/obj/converter/page/page_assets.c: converter/page/embed.sh $(PAGE)
	@mkdir -p $(@D)
	$(call say,EMBED,converter/page)
	$(Q)sh converter/page/embed.sh $(PAGE) >$@

$(B)/obj/%.o: $(B)/obj/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(LIB): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

# The functions of the public headers alone are visible: the map names them.
MAP    := include/libpyrec.map
SONAME := libpyrec.so.$(firstword $(subst ., ,$(VERSION)))
SHARED := $(B)/libpyrec.so.$(VERSION)
$(SHARED): $(LIB_OBJ) $(MAP)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=$(MAP) -Wl,-z,defs $(filter-out -pie,$(LINK)) \
	    -pthread $(LIB_OBJ) $(LIBS) -o $@

.PHONY: shared
shared: $(SHARED) ## build the shared libpyrec

$(PROG): $(PROG_OBJ)
	@mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/pyrec: $(B)/obj/recorder/pyrec.o $(ALL_LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LINK) -pthread $< $(ALL_LIB) -lzstd -lelf -lm -o $@

$(B)/pyconv: $(B)/obj/converter/pyconv.o $(ALL_LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LINK) -pthread $< $(ALL_LIB) -lsqlite3 -lzstd -lz -lm -o $@

$(B)/pyquery: $(B)/obj/query/pyquery.o $(ALL_LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LINK) -pthread $< $(ALL_LIB) -lsqlite3 -lzstd -lz \
	    -lncursesw -ltinfo -ledit -lm -o $@

# One file without any library, for containers that have other libraries or
# none.
$(B)/static/pyrec: $(B)/obj/recorder/pyrec.o $(ALL_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(filter-out -pie,$(LINK)) -static-pie -pthread $< \
	    $(ALL_LIB) -lelf $(LIB) -lzstd -lz -lm -o $@

.PHONY: static
static: $(B)/static/pyrec ## build/static/pyrec, which runs in any container

# --- test programs -----------------------------------------------------------
# tests/unit/test_NAME.c becomes build/tests/test_NAME; what a test wants from
# the linker besides goes into LINK_test_NAME.
LINK_test_read_batch := -Wl,--wrap=rec_memory_readv
LINK_test_segment_search := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
LINK_test_prove := -Wl,--wrap=getrusage
LINK_test_capture := -Wl,--wrap=getrusage
LINK_test_unwinder := -Wl,--wrap=getrusage,--wrap=rec_process_check \
    -Wl,--wrap=rec_runtime_find
LINK_test_writer := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
    -Wl,--wrap=strdup,--wrap=write
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
$(B)/tests/%: tests/unit/%.c $(ALL_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) $(LINK_$*) $< $(ALL_LIB) $(LIBS) -lcmocka -o $@

# tests/fuzz/fuzz_NAME.c: linked with a driver that replays files it is build/
# fuzz/fuzz_NAME; `make fuzz` links it with libFuzzer instead.
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(ALL_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(LINK) \
	    $(filter %.c,$^) $(ALL_LIB) $(LIBS) -o $@

# Helpers of the interop tests and the benchmarks: one C file each.
INTEROP := $(patsubst tests/%.c,$(B)/%,$(wildcard tests/interop/*.c))
BENCH   := $(patsubst tests/%.c,$(B)/%,$(wildcard tests/bench/*.c))
COMPARE := $(patsubst tests/%.c,$(B)/%,$(wildcard tests/compare/*.c))
$(B)/compare/%: tests/compare/%.c $(ALL_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) $< $(ALL_LIB) $(LIBS) -o $@
$(B)/interop/%: tests/interop/%.c $(ALL_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) $< $(ALL_LIB) $(LIBS) -o $@
$(B)/bench/%: tests/bench/%.c $(ALL_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) $< $(ALL_LIB) $(LIBS) -o $@

.PHONY: test-programs
test-programs: all $(UNIT) $(FUZZ) $(INTEROP)

.PHONY: bench-programs
bench-programs: $(BENCH)

.PHONY: unit
unit: $(UNIT) ## build and run the unit tests
	$(Q)set -e; for t in $(UNIT); do $$t; done

# --- what a stranger types ---------------------------------------------------
# The tests are run by the system's Python; a pyenv's may lack modules.
PYTHON3 ?= $(firstword $(wildcard /usr/bin/python3) python3)
JOBS  ?= $(shell nproc 2>/dev/null || echo 2)
SUBMAKE = $(MAKE) --no-print-directory -j$(JOBS)
RUN     = $(PYTHON3) tests/run --build $(B)
ASAN   = SAN=address,undefined B=$(B)/address-undefined
# the tests of the code that runs in more than one thread
TSAN   = SAN=thread B=$(B)/thread $(addprefix $(B)/thread/tests/test_, \
         queue reader handoff outfile)

# The last line of a run of tests is their count.  make prints one line more
# after a recipe that fails, but not under -q, where a target that is not up to
# date ends make with status 1 and no message; lines marked + run there, too.
# So tests run under -q, and a failure leaves a target that is not up to date.
TESTS := check check-peers check-long
ifeq ($(words $(MAKECMDGOALS)) $(filter $(TESTS),$(MAKECMDGOALS)),1 $(MAKECMDGOALS))
MAKEFLAGS += -q
endif
.PHONY: $(TESTS) $(TESTS:%=run-%)
$(TESTS): %: run-%
	$(if $(shell ls $(B)/failed 2>/dev/null),@false)
# $(call tests,COMMANDS,KINDS): run COMMANDS, joined by &&, then tests.
define tests
+@export MAKEFLAGS='$(MAKEOVERRIDES)'; mkdir -p $(B) && touch $(B)/failed; \
  if $(1); then $(RUN) $(2) && rm $(B)/failed; \
  else echo '0 passed, 1 failed, 0 skipped'; fi; true
endef

.PHONY: deps
deps: ## install the packages that the build, the demo and the tests need
	sh tests/setup/packages.sh build demo check

.PHONY: demo
demo: ## record a small program, convert it, ask the database
	sh tests/setup/packages.sh build demo
	$(SUBMAKE) all
	sh tests/demo/demo.sh $(B)

.PHONY: picture
picture: demo ## tests/demo/page.png: the page of the demo, in Chromium
	sh tests/setup/packages.sh picture
	sh tests/demo/picture.sh $(B)

check: ## every test that needs no heavy peer
run-check:
	$(call tests,sh tests/setup/packages.sh build check && \
	  $(SUBMAKE) test-programs WERROR=1 && \
	  $(SUBMAKE) test-programs WERROR=1 $(ASAN) && \
	  $(SUBMAKE) WERROR=1 $(TSAN) && \
	  sh tests/setup/interpreters.sh $(B)/interpreters.env, \
	  lint unit corpus sanitized cli interop live)

check-peers: ## browser, schema, old Pythons, emulated machines, free-threaded
run-check-peers:
	$(call tests,sh tests/setup/packages.sh build check peers && \
	  $(SUBMAKE) test-programs shared WERROR=1 && \
	  sh tests/setup/interpreters.sh --free-threaded $(B)/interpreters.env && \
	  sh tests/setup/unpacked.sh $(B)/interpreters.env && \
	  { sh tests/setup/packages.sh machines || true; } && \
	  sh tests/setup/machine.sh all, \
	  peers free-threaded)

check-long: ## hours: soak, faults, new roots, packages, reproducible builds, fuzzing
run-check-long:
	$(call tests,sh tests/setup/packages.sh build check long && \
	  $(SUBMAKE) test-programs WERROR=1 && \
	  sh tests/setup/interpreters.sh $(B)/interpreters.env && \
	  (for t in $(FUZZ:$(B)/fuzz/fuzz_%=%); do \
	    $(SUBMAKE) fuzz T=$$t || exit 1; done) && \
	  export PYREC_TEST_KILLS=200 PYREC_TEST_LIMIT=14400, long kills)

# Rows go into build/bench.json; a run on a machine with other work says that it
# is not a measurement.
define bench
	sh tests/setup/packages.sh build check
	$(SUBMAKE) all bench-programs
	sh tests/setup/interpreters.sh $(1) $(B)/interpreters.env
	sh tests/setup/austin.sh $(B)/interpreters.env
	rm -f $(B)/bench.rows
	-PYREC_BENCH_JSON=$(abspath $(B)/bench.rows) $(2) $(RUN) --serial --show $(3)
	$(PYTHON3) tests/bench/table.py $(B)/bench.rows $(B)/bench.json
endef
.PHONY: bench bench-quick
bench: ## speed and size against CPython 3.15 and austin in the same run: table and JSON
	$(call bench,--free-threaded,,bench)
bench-quick: ## the same in three minutes: the recorder and the converter
	$(call bench,,PYREC_BENCH_QUICK=1 PYREC_BENCH_ROUNDS=2,bench-quick)

.PHONY: compare-tables
compare-tables: ## the tables of spec/compare.md: records runs, half an hour
	sh tests/setup/packages.sh build check
	$(SUBMAKE) all $(COMPARE)
	sh tests/setup/interpreters.sh $(B)/interpreters.env
	BIN=$(B) $(PYTHON3) tests/compare/tables.py

.PHONY: bench-history
HISTORY ?= build/bench.json
bench-history: all $(INTEROP) ## the changes in HISTORY, bench.json of many commits
	$(Q)SRC=. BIN=$(B) $(PYTHON3) tests/bench/history.py $(HISTORY)

# libFuzzer needs clang, which builds the tree in a folder of its own.
FUZZER  = $(B)/fuzzer
FUZZ_CC = clang
$(B)/libfuzzer/fuzz_%: tests/fuzz/fuzz_%.c $(ALL_LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fsanitize=fuzzer $(LINK) $< \
	    $(ALL_LIB) $(LIBS) -o $@

.PHONY: fuzz
T    ?= reader
SECS ?= 60
fuzz: ## libFuzzer on tests/fuzz/fuzz_$(T).c for $(SECS) seconds; needs clang
	@mkdir -p $(FUZZER)/found-$(T)
	$(Q)$(SUBMAKE) CC=$(FUZZ_CC) CFLAGS='-O1 -g' B=$(FUZZER) \
	    SAN=fuzzer-no-link,address,undefined $(FUZZER)/libfuzzer/fuzz_$(T)
	$(FUZZER)/libfuzzer/fuzz_$(T) -max_total_time=$(SECS) -rss_limit_mb=2048 \
	    -print_final_stats=1 -artifact_prefix=$(FUZZER)/ $(FUZZER)/found-$(T) \
	    $(wildcard tests/fuzz/corpus/$(T))

.PHONY: lint
lint: ## include rule, formatting, shell scripts
	$(PYTHON3) tests/run --build $(B) lint

.PHONY: format
format: ## clang-format the tree
	clang-format -i $$(git ls-files '*.c' '*.h')

# --- install -----------------------------------------------------------------
# Man pages need scdoc, and those of the specifications and the completion of
# shells need Python; without these, everything else is installed.
SCDOC  := $(shell command -v scdoc 2>/dev/null)
HAVE_PYTHON := $(shell command -v $(PYTHON3) 2>/dev/null)
MAN := $(if $(SCDOC),$(patsubst spec/man/%.scd,$(B)/man/%, \
           $(wildcard spec/man/*.scd)) \
       $(if $(HAVE_PYTHON),$(addprefix $(B)/man/pyrec-, \
           format.5 schema.5 query.7 compare.7 sampling.7)))
# The first line has man run tbl, which lays out the tables.  scdoc turns
# hyphens and even margins off before .TH, which turns them on again in groff 1.23,
# as a list does (.IP, of scdoc 1.11.3) unless the string AD says otherwise.
MANPAGE = { printf '%s\n' "'\\\" t" && $(SCDOC) | sed '/^\.TH/a .nh\n.ds AD l\n.ad l'; }
$(B)/man/%: spec/man/%.scd
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)$(MANPAGE) <$< >$@

about_format   := the file format of a profile
about_schema   := the SQLite tables of a profile
about_query    := the query language of pyquery
about_compare  := how pyquery compares profiles, and the rules of its check
about_sampling := how pyrec samples, and what its proofs rest on
.SECONDEXPANSION:
$(B)/man/pyrec-%: spec/$$(basename $$*).md spec/man/from_spec.py
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)$(PYTHON3) spec/man/from_spec.py \
	    'pyrec-$(basename $*)($(subst .,,$(suffix $*)))' \
	    '$(about_$(basename $*))' <$< >$@.scd && \
	    $(MANPAGE) <$@.scd >$@

COMPLETION := $(if $(HAVE_PYTHON),$(foreach p,$(PROGRAMS), \
    $(addprefix $(B)/completion/,bash/$p zsh/_$p fish/$p.fish)))
$(COMPLETION): $(B)/completion/made
$(B)/completion/made: spec/completion/completion.py spec/query.md \
    $(wildcard spec/man/*.scd)
	$(Q)$(PYTHON3) $< $(@D) && touch $@

.PHONY: man
man: $(MAN) ## build the man pages

# ROWS: MODE:FILE:DESTINATION of all that is installed; a link's mode is "link"
# and its file what it points to.
rows = $(foreach f,$(2),$(1):$(f):$(3)/$(notdir $(f)))
SPECS := $(filter-out %/architecture.md,$(wildcard spec/*.md spec/*.sql))
ROWS = $(call rows,755,$(PROGRAMS:%=$(B)/%),$(BINDIR)) \
    $(call rows,644,$(LIB) $(SHARED),$(LIBDIR)) \
    link:$(notdir $(SHARED)):$(LIBDIR)/$(SONAME) \
    link:$(SONAME):$(LIBDIR)/libpyrec.so \
    $(call rows,644,$(B)/pyrec.pc,$(LIBDIR)/pkgconfig) \
    $(call rows,644,$(wildcard include/pyrec/*.h),$(INCDIR)/pyrec) \
    $(call rows,644,$(SPECS) $(wildcard spec/fleet/*),$(DOCDIR)) \
    $(foreach m,$(MAN),$(call rows,644,$m,$(MANDIR)/man$(subst .,,$(suffix $m)))) \
    $(call rows,644,$(filter %.fish,$(COMPLETION)),$(SHAREDIR)/fish/vendor_completions.d) \
    $(call rows,644,$(filter $(B)/completion/zsh/%,$(COMPLETION)),$(ZSHDIR)) \
    $(call rows,644,$(filter $(B)/completion/bash/%,$(COMPLETION)),$(SHAREDIR)/bash-completion/completions)

$(B)/pyrec.pc: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' \
	    'includedir=$(INCDIR)' '' 'Name: pyrec' \
	    'Description: record, convert and question profiles of Python' \
	    'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
	    'Libs: -L$${libdir} -lpyrec' 'Libs.private: $(LIBS) -pthread' >$@
.PHONY: FORCE
FORCE:

.PHONY: install
install: all shared man $(COMPLETION) $(B)/pyrec.pc ## programs, libraries, headers, man pages, completion
	$(Q)set -e; for row in $(ROWS); do \
	    mode=$${row%%:*}; row=$${row#*:}; to="$(DESTDIR)$${row#*:}"; \
	    mkdir -p "$${to%/*}"; \
	    case $$mode in link) ln -sf "$${row%%:*}" "$$to" ;; \
	    *) install -m $$mode "$${row%%:*}" "$$to" ;; esac; done

.PHONY: uninstall
uninstall: ## remove what install put there
	$(Q)for row in $(ROWS); do rm -f "$(DESTDIR)$${row##*:}"; done
	$(Q)rmdir "$(DESTDIR)$(INCDIR)/pyrec" "$(DESTDIR)$(DOCDIR)" 2>/dev/null || :

.PHONY: distcheck
distcheck: dist ## build, test and install from the packed tree alone
	rm -rf $(B)/distcheck && mkdir -p $(B)/distcheck
	tar -xf $(B)/pyrec-$(VERSION).tar.gz -C $(B)/distcheck
	cd $(B)/distcheck/pyrec-$(VERSION) && \
	    $(SUBMAKE) test-programs WERROR=1 && \
	    $(PYTHON3) tests/run --build build lint unit corpus cli

.PHONY: dist
dist: ## build/pyrec-VERSION.tar.gz of the committed tree
	@[ "$$(git rev-parse --show-cdup 2>&1)" = "" ] || { \
	    echo 'make dist: not a git clone; only a commit can be packed' >&2; \
	    exit 1; }
	@mkdir -p $(B)
	git archive --prefix=pyrec-$(VERSION)/ HEAD >$(B)/pyrec-$(VERSION).tar
	gzip -9nf $(B)/pyrec-$(VERSION).tar

# The source of the package is the commit, with .debian as its debian folder.
.PHONY: deb
deb: dist ## build/deb/*.deb of the committed tree; needs debhelper
	rm -rf $(B)/deb && mkdir -p $(B)/deb
	tar -xf $(B)/pyrec-$(VERSION).tar.gz -C $(B)/deb
	cp -R $(B)/deb/pyrec-$(VERSION)/.debian $(B)/deb/pyrec-$(VERSION)/debian
	cd $(B)/deb/pyrec-$(VERSION) && \
	    [ "$$(dpkg-parsechangelog -S Version)" = "$(VERSION)" ] && \
	    MAKEFLAGS= dpkg-buildpackage -b -us -uc

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 16

-include $(shell find $(addprefix $(B)/,obj tests fuzz interop bench) -name '*.d' \
    2>/dev/null)
