-- A small shop, and beside it what an attack would aim at: the data the corpora of this directory run on.
-- To add to it, keep every statement valid on PostgreSQL 13 to 18 and re-check the rows in honest.toml.
--
-- Run once by a superuser in a fresh database, after the role rhizodat_reader was created (LOGIN, nothing else):
--     psql --set ON_ERROR_STOP=1 --file fixture.sql
-- It is one text without psql meta-commands, so that a driver can send it over the simple protocol as well.
--
-- The reader is made as strong as an ordinary role can be made: it may write the canaries, it owns a table, it may
-- run functions that try to write. What keeps it from writing must be the gateway, never a missing privilege.
--
-- Unchanged after every attack:
--     select array_agg(c order by id) from canary c     the three rows below
--     select last_value, is_called from canary_seq      100, false
--     select pg_catalog.brin_summarize_new_values('reader_owned_seen_brin') > 0     asked last: it summarises
--     select pg_catalog.gin_clean_pending_list('reader_owned_words_gin') > 0        asked last: it cleans
--     no session-level advisory lock, no prepared statement or transaction, no listening channel is left

REVOKE CREATE ON SCHEMA public FROM PUBLIC;

CREATE SCHEMA shop;
CREATE SCHEMA archive;
CREATE SCHEMA "Odd Names";

COMMENT ON SCHEMA shop IS 'Customers, products and orders';

-- Types -----------------------------------------------------------------------------------------------------------

CREATE TYPE shop.order_status AS ENUM ('draft', 'paid', 'shipped', 'cancelled', 'it''s lost', 'back "to" sender');
CREATE DOMAIN shop.email AS text CHECK (VALUE LIKE '%_@_%');
CREATE DOMAIN shop.percent AS numeric(5, 2) CHECK (VALUE BETWEEN 0 AND 100);
CREATE DOMAIN shop.big_number AS bigint;
CREATE DOMAIN shop.labels AS text[];
CREATE TYPE shop.address AS (street text, city text, zip varchar(10), since date);
CREATE DOMAIN shop.swiss_address AS shop.address;
CREATE TYPE shop.parcel AS (
    weight numeric(8, 3),
    destination shop.address,
    labels text[],
    state shop.order_status,
    seal bytea
);
CREATE TYPE shop.odd_fields AS ("Two Words" integer, "a""b" text, "select" boolean, "größe" double precision);
CREATE TYPE shop.shrunk AS (a integer, gone text, b text);
ALTER TYPE shop.shrunk DROP ATTRIBUTE gone;
CREATE TYPE shop.everything AS (
    b boolean,
    i bigint,
    f double precision,
    n numeric,
    ts timestamp,
    tstz timestamptz,
    d date,
    bin bytea,
    j json,
    jb jsonb,
    arr integer[],
    mail shop.email,
    pct shop.percent
);
CREATE TYPE shop.empty AS ();
CREATE TYPE shop.single AS (a text);
CREATE TYPE shop.float_range AS RANGE (subtype = float8, subtype_diff = float8mi);

COMMENT ON TYPE shop.order_status IS 'How far an order has come';

-- Tables ----------------------------------------------------------------------------------------------------------

CREATE TABLE shop.customers (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email shop.email UNIQUE,
    home shop.address,
    tags text[] NOT NULL DEFAULT '{}',
    profile jsonb NOT NULL DEFAULT '{}',
    active boolean NOT NULL DEFAULT true,
    birth_date date,
    created_at timestamptz NOT NULL
);
COMMENT ON TABLE shop.customers IS 'People and firms who have bought at least once';
COMMENT ON COLUMN shop.customers.home IS 'Where the invoice goes';

INSERT INTO shop.customers (name, email, home, tags, profile, active, birth_date, created_at) VALUES
    ('Alpine Tools', 'orders@alpine.example', ROW('Bahnhofstrasse 1', 'Zürich', '8001', '2019-05-01'),
     '{wholesale,newsletter}', '{"lang": "de", "limits": {"credit": 5000.50}, "phones": ["+41 44 000 00 00"]}',
     true, NULL, '2023-01-15 08:30:00+00'),
    ('Hill & Valley', 'hello@hill.example', ROW('12 High St, Flat "B"', 'Leeds', NULL, NULL),
     '{retail}', '{"lang": "en", "notes": "said: don''t drop by before 10"}',
     true, '1984-02-29', '2023-06-30 22:15:10.25+00'),
    ('Rock ''n'' Roll Ltd', NULL, NULL,
     '{}', '{}',
     false, '1990-12-31', '2024-02-29 23:59:59.999999+00'),
    ('桜商店', 'info@sakura.example', ROW('二条通 3', '京都', '604-0001', '2024-04-01'),
     '{retail,newsletter,NULL,"with, comma"}', '{"lang": "ja", "limits": {"credit": null}}',
     true, NULL, '2024-07-01 00:00:00+09');

CREATE TABLE shop.products (
    id integer PRIMARY KEY,
    sku char(8) NOT NULL UNIQUE,
    name varchar(80) NOT NULL,
    price numeric(10, 2) NOT NULL CHECK (price >= 0),
    vat shop.percent NOT NULL DEFAULT 8.10,
    gross numeric(10, 2) GENERATED ALWAYS AS (round(price * (1 + vat / 100), 2)) STORED,
    weight real,
    attributes jsonb,
    sold daterange,
    photo bytea,
    search tsvector GENERATED ALWAYS AS (to_tsvector('english'::regconfig, name::text)) STORED
);
COMMENT ON COLUMN shop.products.gross IS 'Price with VAT, kept by the database';
CREATE INDEX products_search ON shop.products USING gin (search);

INSERT INTO shop.products (id, sku, name, price, vat, weight, attributes, sold, photo) VALUES
    (1, 'HAM-1', 'Claw hammer', 24.50, 8.10, 0.75, '{"colour": "red", "sizes": [1, 2, 3], "a.b": true}',
     '[2020-01-01,)', '\x89504e47'),
    (2, 'SAW-20', 'Folding saws, set of two', 99.00, 8.10, 1.2, '{"colour": "green", "teeth": 20}',
     '[2021-03-01,2024-01-01)', NULL),
    (3, 'OIL-05', 'Linseed oil', 7.95, 2.60, 0.5, NULL,
     '(,2023-06-01)', ''),
    (4, 'GIFTCARD', 'Gift card; delete after use', 50.00, 0, NULL, '{}',
     'empty', '\x00ff');

CREATE TABLE shop.orders (
    id bigint NOT NULL,
    placed_on date NOT NULL,
    customer_id integer NOT NULL REFERENCES shop.customers (id),
    status shop.order_status NOT NULL DEFAULT 'draft',
    total numeric(12, 2) NOT NULL,
    note text,
    PRIMARY KEY (id, placed_on)
) PARTITION BY RANGE (placed_on);
CREATE TABLE shop.orders_2023 PARTITION OF shop.orders FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
CREATE TABLE shop.orders_2024 PARTITION OF shop.orders FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE shop.orders_other PARTITION OF shop.orders DEFAULT;
CREATE INDEX orders_by_customer ON shop.orders (customer_id);

INSERT INTO shop.orders (id, placed_on, customer_id, status, total, note) VALUES
    (1001, '2023-02-01', 1, 'shipped', 123.50, NULL),
    (1002, '2023-07-04', 2, 'cancelled', 99.00, 'please DELETE; -- changed my mind'),
    (1003, '2024-01-02', 1, 'paid', 249.00, 'COMMIT by Friday'),
    (1004, '2024-03-15', 4, 'draft', 7.95, ''),
    (1005, '2024-03-15', 2, 'it''s lost', 50.00, E'line one\nline two'),
    (9007199254740993, '2025-01-01', 1, 'draft', 0.10, 'a number JSON readers would round');

CREATE TABLE shop.order_lines (
    order_id bigint NOT NULL,
    line smallint NOT NULL,
    product_id integer NOT NULL REFERENCES shop.products (id) ON DELETE RESTRICT,
    quantity integer NOT NULL CHECK (quantity > 0),
    unit_price numeric(10, 2) NOT NULL,
    PRIMARY KEY (order_id, line)
);

INSERT INTO shop.order_lines (order_id, line, product_id, quantity, unit_price) VALUES
    (1001, 1, 1, 1, 24.50),
    (1001, 2, 2, 1, 99.00),
    (1002, 1, 2, 1, 99.00),
    (1003, 1, 2, 2, 99.50),
    (1003, 2, 4, 1, 50.00),
    (1004, 1, 3, 1, 7.95),
    (1005, 1, 4, 1, 50.00);

CREATE TABLE shop.employees (
    id integer PRIMARY KEY,
    name text NOT NULL,
    reports_to integer REFERENCES shop.employees (id)
);

INSERT INTO shop.employees (id, name, reports_to) VALUES
    (1, 'owner', NULL), (2, 'buyer', 1), (3, 'seller', 1), (4, 'trainee', 3);

CREATE TABLE shop.readings (
    sensor text NOT NULL,
    at timestamptz NOT NULL,
    value double precision,
    from_host inet,
    PRIMARY KEY (sensor, at)
);

INSERT INTO shop.readings (sensor, at, value, from_host) VALUES
    ('cellar', '2024-01-01 00:00:00+00', 7.25, '10.0.0.7'),
    ('cellar', '2024-01-01 01:00:00+00', 7.5, '10.0.0.7'),
    ('cellar', '2024-01-01 02:00:00+00', 'NaN', '10.0.0.7'),
    ('roof', '2024-01-01 00:30:00.5+00', -3.125, '2001:db8::1/64'),
    ('roof', '2024-01-01 01:30:00+00', NULL, NULL);

CREATE VIEW shop.open_orders AS
    SELECT o.id, o.placed_on, c.name AS customer, o.status, o.total
    FROM shop.orders o JOIN shop.customers c ON c.id = o.customer_id
    WHERE o.status IN ('draft', 'paid');
COMMENT ON VIEW shop.open_orders IS 'Orders that nobody has shipped or cancelled';

CREATE MATERIALIZED VIEW shop.sales_by_year AS
    SELECT extract(year FROM placed_on)::integer AS year, count(*) AS orders, sum(total) AS total
    FROM shop.orders GROUP BY 1;

CREATE TABLE archive.notes (id integer PRIMARY KEY, body text NOT NULL);

INSERT INTO archive.notes (id, body) VALUES
    (1, 'ROLLBACK the paint order'), (2, 'it''s /* not */ a comment -- really'), (3, '$1 and $$ and ?');

-- Names that need quotes ------------------------------------------------------------------------------------------

CREATE TABLE "Delete" (id integer PRIMARY KEY, "drop" text, "commit" boolean, "Größe" numeric(6, 2));
INSERT INTO "Delete" VALUES (1, 'table', true, 1.50), (2, NULL, false, NULL);

CREATE TABLE "select" ("from" integer, "where" text);
INSERT INTO "select" VALUES (1, 'here'), (2, 'there');

CREATE TABLE "weird ""name""; --" (
    "a""b" integer,
    update text,
    "semi;colon" text,
    "/* c */" text,
    "$1" text,
    "日本" text
);
INSERT INTO "weird ""name""; --" VALUES (1, 'u', 's', 'c', 'p', 'j');

CREATE TABLE "Odd Names"."таблица" ("ключ" integer, "значение" text);
INSERT INTO "Odd Names"."таблица" VALUES (1, 'привет'), (2, NULL);

CREATE TABLE nothing_in_it (id integer, note text);

-- What an attack aims at ------------------------------------------------------------------------------------------

CREATE TABLE canary (id integer PRIMARY KEY, note text);
INSERT INTO canary VALUES (1, 'alive'), (2, 'unchanged'), (3, 'last');
COMMENT ON TABLE canary IS 'Nothing may ever change this';

CREATE SEQUENCE canary_seq START 100;

-- Three indexes with work pending that only a superuser's check may do. No index block is summarised, the pending
-- list is not flushed: autovacuum is off, and the rows came after the indexes.
CREATE TABLE reader_owned (id integer, seen integer, words text[], padding text) WITH (autovacuum_enabled = false);
CREATE INDEX reader_owned_seen_brin ON reader_owned USING brin (seen) WITH (pages_per_range = 1);
CREATE INDEX reader_owned_words_gin ON reader_owned USING gin (words) WITH (fastupdate = on);
INSERT INTO reader_owned
    SELECT i, i, ARRAY['word' || i % 7], repeat('x', 200) FROM generate_series(1, 500) AS i;

CREATE FUNCTION write_canary() RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO canary VALUES (666, 'written by plpgsql');
    RETURN 1;
END
$$;

CREATE FUNCTION write_canary_sql() RETURNS SETOF integer LANGUAGE sql VOLATILE AS $$
    INSERT INTO canary VALUES (667, 'written by sql') RETURNING id
$$;

CREATE FUNCTION write_canary_definer() RETURNS integer LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
    DELETE FROM public.canary;
    RETURN 1;
END
$$;

CREATE FUNCTION write_canary_quietly() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    BEGIN
        INSERT INTO canary VALUES (668, 'written behind an exception handler');
        RETURN 'written';
    EXCEPTION WHEN OTHERS THEN
        RETURN SQLSTATE;
    END;
END
$$;

-- It lies about itself, so that the planner runs it: also for a text that is only planned.
CREATE FUNCTION write_canary_when_planned() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    EXECUTE 'INSERT INTO canary VALUES (669, ''written while planning'')';
    RETURN 1;
END
$$;

CREATE FUNCTION write_canary_read_write() RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM set_config('transaction_read_only', 'off', true);
    INSERT INTO canary VALUES (670, 'written after read only was turned off');
    RETURN 1;
END
$$;

-- An administrator's convenience that many databases have: it runs any text, so no list of names sees inside.
CREATE FUNCTION exec_sql(command text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    EXECUTE command;
    RETURN 'done';
END
$$;

CREATE PROCEDURE commit_canary() LANGUAGE plpgsql AS $$
BEGIN
    COMMIT;
    INSERT INTO canary VALUES (671, 'written by a procedure that commits');
    COMMIT;
END
$$;

CREATE FUNCTION call_commit_canary() RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    CALL commit_canary();
    RETURN 1;
END
$$;

-- Writes hidden in an operator, an aggregate, a cast and a view, where no function's name is in the text.
CREATE FUNCTION write_canary_compare(integer, integer) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE canary SET note = 'written by an operator';
    RETURN true;
END
$$;
CREATE OPERATOR ==> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = write_canary_compare);

CREATE FUNCTION write_canary_step(integer, integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM canary;
    RETURN 1;
END
$$;
CREATE AGGREGATE honest_looking_sum(integer) (SFUNC = write_canary_step, STYPE = integer, INITCOND = '0');

CREATE FUNCTION write_canary_cast(shop.parcel) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM canary;
    RETURN 1;
END
$$;
CREATE CAST (shop.parcel AS integer) WITH FUNCTION write_canary_cast(shop.parcel);

CREATE VIEW honest_looking_view AS SELECT 1 AS a, write_canary() AS b;

CREATE VIEW locking_view AS SELECT true AS a FROM (SELECT pg_advisory_lock(4711)) AS l;

CREATE FUNCTION move_the_clock() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT set_config('TimeZone', 'Asia/Tokyo', true)
$$;

CREATE FUNCTION nothing() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN;
END
$$;

-- A view and a table whose writes go elsewhere.
CREATE VIEW shop.customer_names AS SELECT id, name FROM shop.customers;

CREATE FUNCTION shop.customer_names_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.canary VALUES (NEW.id + 700, 'written by an INSTEAD OF trigger');
    RETURN NEW;
END
$$;
CREATE TRIGGER customer_names_write INSTEAD OF INSERT OR UPDATE ON shop.customer_names
    FOR EACH ROW EXECUTE FUNCTION shop.customer_names_write();

CREATE RULE notes_also_canary AS ON INSERT TO archive.notes
    DO ALSO INSERT INTO public.canary VALUES (NEW.id + 800, 'written by a rule');

-- Rights ----------------------------------------------------------------------------------------------------------

GRANT USAGE ON SCHEMA public, shop, archive, "Odd Names" TO rhizodat_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public, shop, archive, "Odd Names" TO rhizodat_reader;
GRANT INSERT, UPDATE, DELETE, TRUNCATE ON canary, archive.notes, shop.customer_names TO rhizodat_reader;
GRANT USAGE, SELECT, UPDATE ON canary_seq TO rhizodat_reader;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public, shop TO rhizodat_reader;
ALTER TABLE reader_owned OWNER TO rhizodat_reader;

REFRESH MATERIALIZED VIEW shop.sales_by_year;
