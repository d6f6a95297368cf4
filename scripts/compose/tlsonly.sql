-- Only to be had over TLS: see pg_hba-15.conf.
CREATE DATABASE tlsonly;
