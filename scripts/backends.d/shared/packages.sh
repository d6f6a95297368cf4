# shellcheck shell=bash disable=SC2154 # sourced by scripts/backends
# What is installed from Debian.

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    elif sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

# One `apt-get update` and one install for all that is missing. The packages are here for their binaries: Debian's
# own cluster and services are neither made nor started.
install_packages() {
    local name packages
    mapfile -t packages < <(for name; do (define "$name" && missing_packages); done | sort -u)
    [ ${#packages[@]} -gt 0 ] || return 0
    local list="\`${packages[*]}\`"
    command -v apt-get >/dev/null || fail "$list missing, and there is no apt-get" "Debian 12 is what this script knows"
    say "installing $list from Debian …"
    # shellcheck disable=SC2016 # expanded by the inner shell
    as_root env DEBIAN_FRONTEND=noninteractive bash -euc '
        made=()
        trap '\''rm -f "${made[@]}"'\'' EXIT
        put() {
            [ ! -e "$1" ] || return 0
            mkdir -p "${1%/*}"
            printf "$2" >"$1"
            chmod "$3" "$1"
            made+=("$1")
        }
        put /usr/sbin/policy-rc.d "#!/bin/sh\nexit 101\n" 755
        put /etc/postgresql-common/createcluster.d/rhizodat.conf "create_main_cluster = false\n" 644
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "$@"
    ' install "${packages[@]}" >&2 </dev/null 9>&- ||
        fail "cannot install $list" "install these yourself: \`apt-get install ${packages[*]}\`"
}
