-- What the tests find on every PostgreSQL, from packages or from containers.
ALTER ROLE postgres PASSWORD 'postgres-test';

-- An agent's account: it may connect, and has nothing else.
CREATE ROLE rhizodat_reader LOGIN PASSWORD 'reader-test';
GRANT CONNECT ON DATABASE postgres TO rhizodat_reader;

-- pgbouncer looks up the passwords of roles that its list does not have. New databases are copies of template1.
CREATE ROLE rhizodat_bouncer LOGIN PASSWORD 'bouncer-test';
GRANT SELECT ON pg_catalog.pg_shadow TO rhizodat_bouncer;
\connect template1
GRANT SELECT ON pg_catalog.pg_shadow TO rhizodat_bouncer;
