# ArcadeDB 26.10 from the wheel that embeds it, with its own Java: a graph over Bolt that does not enforce READ.
# shellcheck shell=bash disable=SC2034,SC2154 # read and set by scripts/backends
ports=(bolt http)
variables=(RHIZODAT_TEST_ARCADEDB RHIZODAT_TEST_ARCADEDB_HTTP)

package=arcadedb-embedded
package_version=26.10.2.post1
package_sha256=fe81f1363f6e17c76755cfbaa30453dd8858e45c994ae429c279887a1e31ccb0
installed=$state/arcadedb-$package_version

missing_packages() {
    python_packages
    command -v curl >/dev/null || echo curl
    command -v unzip >/dev/null || echo unzip
    # the account that the server runs as
    [ "$EUID" -ne 0 ] || id postgres >/dev/null 2>&1 || echo postgresql-common
}

fetch() {
    [ ! -e "$installed/.complete" ] || return 0
    say "fetching ArcadeDB $package_version from PyPI …"
    rm -rf "$installed" "$installed.part"
    mkdir -p "$installed.part"
    # Debian's Python has no pip of its own; an environment does.
    python3 -m venv "$installed.part/pip" >&2
    "$installed.part/pip/bin/python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: \
        --platform manylinux_2_34_x86_64 --python-version 3.11 --implementation cp -d "$installed.part" \
        "$package==$package_version" >&2 9>&-
    cat "$installed.part"/*.whl | sha256sum | grep -q "^$package_sha256 " ||
        fail "\`$package\` is not what it was" "its wheel has another checksum than scripts/backends.d/arcadedb.sh names"
    unzip -q "$installed.part/*.whl" 'arcadedb_embedded/jars/*' 'arcadedb_embedded/jre/*' -d "$installed.part" >&2
    rm -r "$installed.part"/*.whl "$installed.part/pip"
    chmod -R a+rX "$installed.part"
    chmod +x "$installed.part"/arcadedb_embedded/jre/bin/* "$installed.part"/arcadedb_embedded/jre/lib/jspawnhelper
    mv "$installed.part" "$installed"
    : >"$installed/.complete"
}

start() {
    local home=$dir/home
    # The cache may be out of reach for the account that the server runs as: hard links, or a copy.
    cp -al "$installed/arcadedb_embedded" "$dir/program" 2>/dev/null || {
        rm -rf "$dir/program"
        cp -a "$installed/arcadedb_embedded" "$dir/program"
    }
    owned "$home"
    owned "$home/config" "$home/databases" "$home/log"
    install -m 644 "$definitions/shared/arcadedb/server-groups.json" "$home/config/server-groups.json"
    [ "$EUID" -ne 0 ] || chown -R postgres:postgres "$home"
    spawn "$dir/program/jre/bin/java" -Xmx512m -XX:+UseSerialGC --add-modules jdk.incubator.vector \
        --enable-native-access=ALL-UNNAMED --add-opens java.base/java.nio.channels.spi=ALL-UNNAMED \
        "-Darcadedb.server.rootPath=$home" "-Darcadedb.server.databaseDirectory=$home/databases" \
        "-Darcadedb.server.logsDirectory=$home/log" -Darcadedb.server.rootPassword=arcadedb-test \
        -Darcadedb.server.httpIncomingHost=127.0.0.1 "-Darcadedb.server.httpIncomingPort=$(port http)" \
        -Darcadedb.server.plugins=Bolt:com.arcadedb.bolt.BoltProtocolPlugin \
        -Darcadedb.bolt.host=127.0.0.1 "-Darcadedb.bolt.port=$(port bolt)" \
        "-Darcadedb.server.defaultDatabases=graph[root]" \
        -cp "$dir/program/jars/*" com.arcadedb.server.ArcadeDBServer
}

ready() { curl -sf -m 3 "http://127.0.0.1:$(port http)/api/v1/ready" && (: <>"/dev/tcp/127.0.0.1/$(port bolt)"); }

settle() {
    local account='{"name":"rhizodat_reader","password":"reader-test","databases":{"graph":["reader"]}}'
    curl -sf -m 10 -u root:arcadedb-test "http://127.0.0.1:$(port http)/api/v1/server" \
        -H 'Content-Type: application/json' --data "{\"command\":\"create user ${account//\"/\\\"}\"}" >>"$dir/log" 2>&1
}

environment() {
    export_line RHIZODAT_TEST_ARCADEDB "bolt://rhizodat_reader:reader-test@127.0.0.1:$(port bolt)/graph"
    export_line RHIZODAT_TEST_ARCADEDB_HTTP "http://root:arcadedb-test@127.0.0.1:$(port http)"
}
