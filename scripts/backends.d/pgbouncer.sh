# pgbouncer from Debian in front of postgresql-15, pooling by transaction, refusing startup parameters it does not know.
# shellcheck shell=bash disable=SC2034,SC2154 # read and set by scripts/backends
needs=(postgresql-15)
ports=(pgbouncer)
variables=(RHIZODAT_TEST_PGBOUNCER)
stop_signal=TERM # at once; INT would wait for the clients

missing_packages() { [ -x /usr/sbin/pgbouncer ] || echo pgbouncer; }

start() {
    local files=$root/scripts/compose
    owned "$dir/etc"
    sed -e "s|^\* = .*|* = host=127.0.0.1 port=$(port postgresql postgresql-15)|" \
        -e "s|^listen_addr = .*|listen_addr = 127.0.0.1|" \
        -e "s|^listen_port = .*|listen_port = $(port pgbouncer)|" \
        -e "s|^auth_file = .*|auth_file = $dir/etc/userlist.txt|" \
        -e '/^max_prepared_statements = /d' \
        "$files/pgbouncer.ini" >"$dir/etc/pgbouncer.ini"
    cp "$files/userlist.txt" "$dir/etc/userlist.txt"
    spawn /usr/sbin/pgbouncer "$dir/etc/pgbouncer.ini"
}

ready() {
    PGPASSWORD=reader-test PGCONNECT_TIMEOUT=3 /usr/lib/postgresql/15/bin/psql -X -q -w \
        -h 127.0.0.1 -p "$(port pgbouncer)" -U rhizodat_reader -d postgres -c 'select 1'
}

environment() {
    export_line RHIZODAT_TEST_PGBOUNCER "postgresql://rhizodat_reader:reader-test@127.0.0.1:$(port pgbouncer)/postgres"
}
