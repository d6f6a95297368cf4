#!/usr/bin/env python3
"""Run ClickHouse's own HTTP and native listeners from libchdb.so, as clickhouse-local with SYSTEM START LISTEN.

usage: server.py LIBRARY CONFIG DATA-DIRECTORY HTTP-PORT NATIVE-PORT
"""
import ctypes
import faulthandler
import os
import sys

faulthandler.enable()
library, config, data, http, native = sys.argv[1:6]
os.makedirs(data, exist_ok=True)
# The last statement never ends: the listeners live as long as it does.
query = (
    "SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; "
    "SELECT sleepEachRow(3) FROM numbers(1000000000) "
    "SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0 FORMAT Null"
)
arguments = [
    "clickhouse-local",
    f"--config-file={config}",
    f"--path={data}",
    "--listen_host=127.0.0.1",
    f"--http_port={http}",
    f"--tcp_port={native}",
    f"--query={query}",
]
encoded = [argument.encode() for argument in arguments]
chdb = ctypes.CDLL(library)
chdb.chdb_query_cmdline.restype = ctypes.c_void_p
chdb.chdb_query_cmdline.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
chdb.chdb_result_error.restype = ctypes.c_char_p
chdb.chdb_result_error.argtypes = [ctypes.c_void_p]
result = chdb.chdb_query_cmdline(len(encoded), (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None))
error = chdb.chdb_result_error(result) if result else b"no result"
sys.exit(error.decode(errors="replace") if error else "the statement that never ends has ended")
