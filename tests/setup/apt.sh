# shellcheck shell=sh
# Sourced: packages of any Debian suite and architecture, laid under a folder
# of our own.  The machine's packages and its package lists stay as they are;
# nothing here needs root.

# The machine's own mirror, whatever it is.
apt_mirror() {
    # shellcheck disable=SC2016 # apt expands it
    apt-get indextargets --format '$(REPO_URI)' | grep -v security |
        sort -u | head -n 1
}

# apt_state STATE SUITE [ARCHITECTURE]: a private apt in folder STATE, with the
# lists of SUITE fetched.  Sets APT_CONFIG for the commands that follow.
# Check-Valid-Until: testing suites are often served after their expiry.
apt_state() {
    _state=$1
    _suite=$2
    _arch=${3:-$(dpkg --print-architecture)}
    _mirror=$(apt_mirror)
    [ -n "$_mirror" ] || {
        echo "apt.sh: apt knows no mirror" >&2
        return 1
    }
    mkdir -p "$_state/lists/partial" "$_state/cache/archives/partial" \
        "$_state/sources.d" "$_state/preferences.d" || return 1
    : >"$_state/status"
    _key=/usr/share/keyrings/debian-archive-keyring.gpg
    for _type in deb deb-src; do
        echo "$_type [signed-by=$_key] $_mirror $_suite main"
    done >"$_state/sources.list"
    cat >"$_state/apt.conf" <<CONF || return 1
Dir::State "$_state";
Dir::State::lists "$_state/lists";
Dir::State::status "$_state/status";
Dir::Cache "$_state/cache";
Dir::Etc::sourcelist "$_state/sources.list";
Dir::Etc::sourceparts "$_state/sources.d";
Dir::Etc::preferences "$_state/preferences";
Dir::Etc::preferencesparts "$_state/preferences.d";
APT::Architecture "$_arch";
APT::Architectures { "$_arch"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
APT::Update::Error-Mode "any";
CONF
    APT_CONFIG=$_state/apt.conf
    export APT_CONFIG
    # The mirror may be away for a moment.
    for _rest in 10 30 60; do
        apt-get update -qq && return 0
        sleep "$_rest"
    done
    apt-get update -qq
}

# apt_unpack STATE ROOT PACKAGE...: fetch the packages with all they depend on
# and unpack them into ROOT.  After apt_state.
apt_unpack() {
    _state=$1
    _root=$2
    shift 2
    # Once more after an update: in a moving suite a file may vanish between.
    apt_fetch "$@" || { apt-get update -qq && apt_fetch "$@"; } || return 1
    mkdir -p "$_root/usr" || return 1
    for _dir in bin sbin lib lib64; do
        mkdir -p "$_root/usr/$_dir"
        [ -e "$_root/$_dir" ] || ln -s "usr/$_dir" "$_root/$_dir" || return 1
    done
    for _deb in $(apt_files "$_state" "$@"); do
        dpkg-deb --fsys-tarfile "$_deb" |
            tar -x --keep-directory-symlink -C "$_root" || return 1
    done
}

apt_fetch() {
    apt-get install -y -qq --no-install-recommends --download-only "$@" \
        >/dev/null
}

# The archives in the state's cache that an installation of these would use.
apt_files() {
    _archives=$1/cache/archives
    shift
    apt-get install -y -qq --no-install-recommends --print-uris \
        -o Dir::Cache::archives=/nonexistent "$@" |
        sed -n "s/^'[^']*' \([^ ]*\) .*/\1/p" | while read -r _name; do
        echo "$_archives/$_name"
    done
}
