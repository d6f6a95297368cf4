# shellcheck shell=bash disable=SC2154 # sourced by scripts/backends, which sets the variables
# Which process a backend is, and how it ends.

# started_at PID : when it started, in ticks since boot; fails when it is gone (or dead and only not reaped)
started_at() {
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    read -r -a fields <<<"${line##*) }"
    [ "${fields[0]}" != Z ] || return 1
    printf '%s\n' "${fields[19]}"
}

# alive BACKEND : prints its process id if that very process still runs
alive() {
    local pid ticks
    { read -r pid ticks <"$run/$1/pid"; } 2>/dev/null || return 1
    [ "$(started_at "$pid")" = "$ticks" ] || return 1
    printf '%s\n' "$pid"
}

# end BACKEND : stop the process, wait, remove the data
end() {
    local name=$1 pid
    if pid=$(alive "$name"); then
        kill -s "$(define "$name" && echo "$stop_signal")" "$pid" 2>/dev/null || true
        if ! wait_gone "$name" "$stop_deadline"; then
            say "warning: \`$name\` did not stop within $stop_deadline s and is killed"
            kill -s KILL "$pid" 2>/dev/null || true
            wait_gone "$name" 5 || fail "\`$name\` (process $pid) cannot be ended" "look at \`ps -p $pid -f\`"
        fi
    fi
    rm -rf "${run:?}/$name"
}

wait_gone() {
    local until=$((SECONDS + $2))
    while alive "$1" >/dev/null; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.05
    done
}
