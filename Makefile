# Builds, installs and tests the extension with PGXS: the server's own build system.
#
#   make                      the module (WERROR=1: warnings are errors)
#   make install              into the server that PG_CONFIG belongs to
#   make installcheck         SQL, isolation and TAP tests, on a running server
#
# Works in the source folder, and in any other with `make -f /path/to/Makefile`.

here := $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))
sources := $(patsubst $(here)/%,%,$(sort \
	$(wildcard $(addprefix $(here)/,src/core/*.cpp src/pg/*.cpp src/pg/*/*.cpp))))

PKG_CONFIG ?= pkg-config

EXTENSION = pg_idem
MODULE_big = pg_idem
OBJS = $(sources:.cpp=.o)
DATA = $(patsubst $(here)/%,%,$(wildcard $(here)/sql/pg_idem--*.sql))
SHLIB_LINK = -lcrypto $(shell $(PKG_CONFIG) --libs icu-uc)
SHLIB_EXPORTS = exports.txt

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)

# -isystem: PostgreSQL's headers are not clean under our warnings, and not ours to mend.
PG_CPPFLAGS = -I$(here)/src -isystem $(shell $(PG_CONFIG) --includedir-server) \
	$(shell $(PKG_CONFIG) --cflags icu-uc)
PG_CXXFLAGS = -std=gnu++20 -fno-exceptions -fno-rtti -fvisibility-inlines-hidden \
	-Wextra -Wshadow -Wnon-virtual-dtor

# Tests. Goldens of SQL scripts and of isolation specs alike are read from ./expected.
REGRESS = $(sort $(basename $(notdir $(wildcard $(here)/test/sql/*.sql))))
REGRESS_OPTS = --inputdir=$(here)/test --load-extension=pgtap --load-extension=pg_idem
ISOLATION = $(sort $(basename $(notdir $(wildcard $(here)/test/specs/*.spec))))
ISOLATION_OPTS = --inputdir=$(here)/test --outputdir=. --load-extension=pg_idem
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
EXTRA_CLEAN = $(OBJS:.o=.d) exports.list results regression.out regression.diffs

# PGXS links with the C compiler, which leaves the C++ library out.
override COMPILER = $(CXX) $(CXXFLAGS)

include $(PGXS)

# PGXS searches the source folder for everything. Only sources may be found there: an object left by
# a build in the source folder would be linked into this one, whatever it was compiled with.
VPATH =
vpath %.cpp $(here)
vpath %.txt $(here)
vpath %.control $(here)

# Bitcode is compiled with clang and without PG_CXXFLAGS. Appended here, since PGXS sets the command
# only where it is unset. A constructor that is an alias of another one in the bitcode makes the server's
# inlining abort.
COMPILE.cxx.bc += $(PG_CXXFLAGS) -Xclang -mno-constructor-aliases

ifdef WERROR
override CXXFLAGS += -Werror
endif

# SANITIZE=undefined: a module that aborts the server at the first undefined operation. Use it with
# with_llvm=no, since inlined bitcode would run unchecked.
ifdef SANITIZE
override CXXFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
endif

# PGXS knows no header dependencies. Bitcode follows its object, which has them.
override CXXFLAGS += -MMD -MP
-include $(OBJS:.o=.d)
$(OBJS:.o=.bc): %.bc: %.o

folders := $(sort $(dir $(OBJS)))
$(OBJS): | $(folders)
$(folders):
	mkdir -p $@

# For the check that CMake compiles the same files.
.PHONY: list-sources
list-sources:
	@printf '%s\n' $(sources)
