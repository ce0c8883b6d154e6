# pyrec - record, convert and question profiles of Python programs.
# `make help` lists the targets.

CC      ?= cc
AR      ?= ar
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include
MANDIR  ?= $(PREFIX)/share/man
WERROR  ?= 0
SAN     ?=
V       ?= 0

VERSION := $(shell sed -n 's/.*PYREC_VERSION "\(.*\)"/\1/p' include/pyrec/version.h)

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
       -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
       -Wcast-align -Wcast-qual -Wpointer-arith -Wwrite-strings -Wformat=2 \
       -Wundef -Wvla -Wnull-dereference -Wdouble-promotion -Wswitch-enum
ifeq ($(WERROR),1)
WARN += -Werror
endif

comma := ,
# Each combination of flags builds in a folder of its own; the programs of the
# plain build are also what build/pyrec, build/pyconv and build/pyquery are.
ifeq ($(SAN),)
B      := build
HARDEN := -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fPIE
LINK   := -pie -Wl,-z,relro,-z,now,-z,noexecstack
else
B      := build/$(subst $(comma),-,$(SAN))
HARDEN := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -fPIE
LINK   := -pie -fsanitize=$(SAN)
endif
ROOMS ?= format recorder converter query
STD    = -std=c11 -D_GNU_SOURCE -Iinclude -I.
ALL_CFLAGS = $(STD) $(WARN) $(HARDEN) $(CFLAGS) -MMD -MP -pthread

PROGRAMS := $(if $(filter recorder,$(ROOMS)),pyrec) \
            $(if $(filter converter,$(ROOMS)),pyconv) \
            $(if $(filter query,$(ROOMS)),pyquery)
MAINS    := recorder/pyrec.c converter/pyconv.c query/pyquery.c
LIB_SRC  := $(filter-out $(MAINS),$(wildcard $(ROOMS:%=%/*.c)))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/obj/%.o)
LIB      := $(B)/libpyrec.a
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

$(LIB): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/pyrec: $(B)/obj/recorder/pyrec.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LINK) -pthread $< $(LIB) -lzstd -lelf -o $@

$(B)/pyconv: $(B)/obj/converter/pyconv.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LINK) -pthread $< $(LIB) -lsqlite3 -lzstd -lz -lm -o $@

$(B)/pyquery: $(B)/obj/query/pyquery.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LINK) -pthread $< $(LIB) -lsqlite3 -lzstd -lz -lm -o $@

# Unit tests: tests/unit/test_NAME.c becomes build/tests/test_NAME.
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
$(B)/tests/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK) $< $(LIB) $(LIBS) -lcmocka -o $@

.PHONY: unit
unit: $(UNIT) ## build and run the unit tests
	$(Q)set -e; for t in $(UNIT); do $$t; done

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: lint
lint: ## include rule, formatting
	sh tests/lint/includes.sh
	clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')

.PHONY: format
format: ## clang-format the tree
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 16

-include $(shell find $(B)/obj $(B)/tests -name '*.d' 2>/dev/null)
