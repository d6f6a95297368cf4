# ClickHouse 26.7 from the npm package of chDB, whose library has the server's own HTTP and native listeners.
# shellcheck shell=bash disable=SC2034,SC2154 # read and set by scripts/backends
ports=(http native)
variables=(RHIZODAT_TEST_CLICKHOUSE RHIZODAT_TEST_CLICKHOUSE_NATIVE)
stop_signal=KILL # the library takes no signal for an end; its data goes with it

package=@chdb/lib-linux-x64-gnu
package_version=26.7.3-stable.1
library_sha256=36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5
installed=$state/clickhouse-$package_version

missing_packages() {
    command -v npm >/dev/null || echo npm
    command -v python3 >/dev/null || echo python3
    command -v curl >/dev/null || echo curl
}

fetch() {
    [ ! -e "$installed/.complete" ] || return 0
    say "installing \`$package\` from npm …"
    rm -rf "$installed"
    mkdir -p "$installed"
    (cd "$installed" && npm install --silent --no-audit --no-fund --ignore-scripts "$package@$package_version") >&2 9>&-
    printf '%s  %s\n' "$library_sha256" "$installed/node_modules/$package/libchdb.so" | sha256sum --check --status ||
        fail "\`$package\` is not what it was" "its library has another checksum than scripts/backends.d/clickhouse.sh names"
    : >"$installed/.complete"
}

start() {
    local files=$definitions/shared/clickhouse
    mkdir -p "$dir/etc"
    install -m 644 "$files/config.xml" "$files/users.xml" "$files/server.py" "$dir/etc/"
    # The cache may be out of reach for the account that the server runs as: a hard link, or a copy.
    cp -l "$installed/node_modules/$package/libchdb.so" "$dir/" 2>/dev/null ||
        cp "$installed/node_modules/$package/libchdb.so" "$dir/"
    chmod a+r "$dir/libchdb.so"
    mkdir -p "$dir/data"
    # not `with_user`: the interpreter may be out of reach, too
    (
        cd "$dir/data" || exit 1
        exec setsid env -i PATH="$PATH" HOME="$dir/data" LC_ALL=C.UTF-8 TZ=UTC \
            python3 "$dir/etc/server.py" "$dir/libchdb.so" "$dir/etc/config.xml" "$dir/data" "$(port http)" "$(port native)" \
            </dev/null >>"$dir/log" 2>&1 9>&-
    ) &
    local pid=$!
    printf '%s %s\n' "$pid" "$(started_at "$pid" || echo 0)" >"$dir/pid"
    disown "$pid"
}

ready() {
    curl -sf -m 3 -u rhizodat_reader:reader-test "http://127.0.0.1:$(port http)/?query=select+1"
}

environment() {
    export_line RHIZODAT_TEST_CLICKHOUSE "clickhouse://rhizodat_reader:reader-test@127.0.0.1:$(port http)"
    export_line RHIZODAT_TEST_CLICKHOUSE_NATIVE "127.0.0.1:$(port native)"
}
