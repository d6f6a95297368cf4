# What the PostgreSQL versions have in common. Set `binaries` (the directory of initdb, postgres, psql) first.
# shellcheck shell=bash disable=SC2034,SC2154 # read and set by scripts/backends

ports=(postgresql)
stop_signal=INT # "fast": ends sessions, does not wait for them
files=$root/scripts/compose

socket_psql() { with_user "$binaries/psql" -X -q -v ON_ERROR_STOP=1 -h "$dir/socket" -p "$(port postgresql)" -U postgres "$@"; }

# start_postgresql HBA-FILE [-c NAME=VALUE]…
start_postgresql() {
    local hba=$1
    shift
    owned "$dir/data" "$dir/socket"
    install -m 644 "$hba" "$dir/pg_hba.conf"
    (cd / && TZ=UTC with_user "$binaries/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync) \
        >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >>"$dir/log"; return 1; }
    spawn "$binaries/postgres" -D "$dir/data" \
        -c "hba_file=$dir/pg_hba.conf" \
        -c "listen_addresses=127.0.0.1" -c "port=$(port postgresql)" -c "unix_socket_directories=$dir/socket" \
        -c max_prepared_transactions=64 -c max_connections=200 -c track_activities=on -c timezone=UTC \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off "$@"
}

# over the socket until it is set up, then the way the tests come in
ready() {
    if [ -e "$dir/ready" ]; then
        PGPASSWORD=postgres-test PGCONNECT_TIMEOUT=3 "$binaries/psql" -X -q -w -h 127.0.0.1 -p "$(port postgresql)" -U postgres -c 'select 1'
    else
        socket_psql -c 'select 1'
    fi
}

settle() { socket_psql -d postgres -f - <"$files/roles.sql" >>"$dir/log" 2>&1; }
