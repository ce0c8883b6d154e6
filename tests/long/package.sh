#!/bin/sh
# The Debian packages are built, pass lintian, are installed, used, upgraded and
# removed in new roots of Debian 12 and 13.
# PYREC_TEST_SUITES names the suites (bookworm and trixie).
set -u
# shellcheck source=tests/setup/root.sh
. "$SRC/tests/setup/root.sh"
# shellcheck source=tests/setup/results.sh
. "$SRC/tests/setup/results.sh"
can_make_roots || {
    echo "ok Debian packages # SKIP they need root and mmdebstrap"
    exit 0
}

# The packages that the build of the package names.
needs=$(sed -n '/^Build-Depends:/,/^[A-TV-Z]/{/^Build-Depends:\|^ /p}' \
    "$SRC/.debian/control" |
    sed 's/^Build-Depends://; s/([^)]*)//g; s/:any//g; s/-compat//' |
    tr ',\n' '  ')
version=$(sed -n 's/.*PYREC_VERSION "\(.*\)"/\1/p' "$SRC/include/pyrec/version.h")
try_suite() {
    suite=$1
    root=$PWD/$suite
    # shellcheck disable=SC2086 # a list of words
    new_root "$suite" "$root" build-essential $needs git lintian pkg-config \
        >"$suite.log" 2>&1 || {
        tail -n 5 "$suite.log"
        result 1 "a root of $suite"
        return
    }
    git clone -q "$SRC" "$root/src"
    in_root "$root" 'cd /src && make deb && cp -R build/deb /first' >>"$suite.log" 2>&1 || {
        tail -n 20 "$suite.log"
        result 1 "$suite: make deb builds"
        return
    }
    result 0 "$suite: make deb builds"
    in_root "$root" 'cd /first && lintian --allow-root --fail-on error,warning *.changes'
    result $? "$suite: lintian finds no error and no warning"
    in_root "$root" 'find / -xdev -path /src -prune -o -print | sort >/src/before
        cd /first && apt-get install -y -qq ./pyrec_*.deb ./libpyrec*_*.deb' \
        >>"$suite.log" 2>&1
    result $? "$suite: the packages are installed"
    in_root "$root" 'python3 /src/tests/demo/shop.py 60 & app=$!
        until pyrec --check $app || ! kill -0 $app; do sleep 0.1; done
        pyrec -q -p $app -o /src/run.bin -d 1 && kill $app
        pyquery /src/run.bin "top 5"'
    result $? "$suite: the installed programs record and answer"
    in_root "$root" 'cd /src && cc -Wall -Werror tests/cli/count.c \
            $(pkg-config --cflags --libs pyrec) -o count &&
        samples=$(pyquery run.bin --csv --sql "SELECT sum(n) FROM run" |
            tail -n 1) && [ "$(./count run.bin)" = "'"$version"' $samples" ]'
    result $? "$suite: a program reads that profile with the installed library"
    in_root "$root" "cd /src && sed -i '1s/$version/$version+1/' .debian/changelog &&
        git -c user.name=x -c user.email=x commit -qam x &&
        sed -i 's/PYREC_VERSION \"$version\"/PYREC_VERSION \"$version+1\"/' \
            include/pyrec/version.h &&
        git -c user.name=x -c user.email=x commit -qam x &&
        make deb && cd build/deb &&
        apt-get install -y -qq ./pyrec_*.deb ./libpyrec*_*.deb &&
        pyrec --version | grep -F '$version+1'" >>"$suite.log" 2>&1
    result $? "$suite: the packages are upgraded"
    in_root "$root" 'apt-get purge -y -qq pyrec libpyrec0 libpyrec-dev &&
        find / -xdev -path /src -prune -o -print | sort >/src/after
        ! comm -13 /src/before /src/after | grep -i pyrec | grep -v "^/var/log"' \
        >>"$suite.log" 2>&1
    result $? "$suite: removed packages leave no file"
    remove_root "$root"
}

for suite in ${PYREC_TEST_SUITES:-bookworm trixie}; do
    try_suite $suite
done
exit $status
