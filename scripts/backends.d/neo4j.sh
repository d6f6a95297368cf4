# Neo4j Community 5.26 LTS from the jars of Maven Central, with TLS where the client wants it.
# shellcheck shell=bash disable=SC2034,SC2154 # read and set by scripts/backends
ports=(bolt http)
variables=(RHIZODAT_TEST_NEO4J RHIZODAT_TEST_NEO4J_CA RHIZODAT_TEST_NEO4J_HTTP)
start_deadline=120

neo4j_version=5.26.30
jars_sha256=0c067a87a7b02b2ecb0b7a305a9ea3139b11854325e19f759834ffcc5a40c927
dependency_plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1
installed=$state/neo4j-$neo4j_version

missing_packages() {
    command -v java >/dev/null || echo openjdk-17-jre-headless
    # only to fetch the jars
    [ -e "$installed/.complete" ] || command -v mvn >/dev/null || echo maven
    command -v openssl >/dev/null || echo openssl
    # the account that the server runs as
    [ "$EUID" -ne 0 ] || id postgres >/dev/null 2>&1 || echo postgresql-common
}

fetch() {
    [ ! -e "$installed/.complete" ] || return 0
    say "fetching Neo4j $neo4j_version from Maven Central …"
    rm -rf "$installed"
    mkdir -p "$installed/lib"
    cp "$definitions/shared/neo4j/pom.xml" "$installed/pom.xml"
    (cd "$installed" && mvn -B -q --strict-checksums "-Dneo4j.version=$neo4j_version" -Dmaven.artifact.threads=16 \
        "$dependency_plugin:copy-dependencies" -DincludeScope=runtime "-DoutputDirectory=$installed/lib") >&2 </dev/null 9>&-
    [ "$(cd "$installed/lib" && sha256sum ./*.jar | LC_ALL=C sort | sha256sum | cut -d' ' -f1)" = "$jars_sha256" ] ||
        fail "the jars of Neo4j $neo4j_version are not what they were" \
            "they have another checksum than scripts/backends.d/neo4j.sh names"
    : >"$installed/.complete"
}

start() {
    local files=$definitions/shared/neo4j bolt
    bolt=$(port bolt)
    owned "$dir/home"
    owned "$dir/home/conf" "$dir/home/data" "$dir/home/logs" "$dir/home/import" "$dir/home/run" "$dir/home/certificates"
    sh "$root/scripts/compose/certificates.sh" "$dir/home/certificates"
    cp "$dir/home/certificates/ca.crt" "$dir/ca.crt"
    chmod 644 "$dir/ca.crt"
    # The cache may be out of reach for the account that the server runs as: hard links, or a copy.
    cp -al "$installed/lib" "$dir/lib" 2>/dev/null || {
        rm -rf "${dir:?}/lib"
        cp -a "$installed/lib" "$dir/lib"
    }
    chmod -R a+rX "$dir/lib"
    {
        cat "$files/neo4j.conf"
        echo "server.bolt.listen_address=127.0.0.1:$bolt"
        echo "server.bolt.advertised_address=127.0.0.1:$bolt"
        echo "server.http.listen_address=127.0.0.1:$(port http)"
        # Without it an end waits twice five seconds for idle threads.
        echo "internal.server.bolt.thread_pool_shutdown_wait_time=200ms"
    } >"$dir/home/conf/neo4j.conf"
    [ "$EUID" -ne 0 ] || chown -R postgres:postgres "$dir/home"
    # The serial collector and one compiler: quickest to start on a small machine, and not for benchmarks.
    local java=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -Dfile.encoding=UTF-8)
    (cd / && NEO4J_HOME=$dir/home NEO4J_CONF=$dir/home/conf with_user "${java[@]}" -Xmx128m -cp "$dir/lib/*" \
        org.neo4j.cli.AdminTool dbms set-initial-password neo4j-test) >>"$dir/log" 2>&1 9>&-
    spawn "${java[@]}" -Xms128m -Xmx512m -XX:+ExitOnOutOfMemoryError \
        --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED \
        --add-opens=java.base/sun.nio.ch=ALL-UNNAMED --add-opens=java.base/java.util.concurrent=ALL-UNNAMED \
        -cp "$dir/lib/*" org.neo4j.server.CommunityEntryPoint "--home-dir=$dir/home" "--config-dir=$dir/home/conf"
}

# It answers a handshake that offers Bolt 5.0 to 5.8, and HTTP.
ready() {
    (: <>"/dev/tcp/127.0.0.1/$(port http)") || return 1
    local answer
    answer=$(
        exec 3<>"/dev/tcp/127.0.0.1/$(port bolt)" || exit 1
        printf '\x60\x60\xb0\x17\x00\x08\x08\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00' >&3
        timeout 5 head -c 4 <&3 | od -An -tx1 | tr -d ' \n'
    )
    [[ $answer == 000?0?05 ]]
}

environment() {
    export_line RHIZODAT_TEST_NEO4J "bolt://neo4j:neo4j-test@127.0.0.1:$(port bolt)"
    export_line RHIZODAT_TEST_NEO4J_CA "$dir/ca.crt"
    # Another way in, by which the tests look at what is there.
    export_line RHIZODAT_TEST_NEO4J_HTTP "http://neo4j:neo4j-test@127.0.0.1:$(port http)"
}
