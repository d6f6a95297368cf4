-- A small shop, and beside it what an attack would aim at: the data the corpora of this directory run on.
-- Each statement ends with a semicolon at the end of a line; the test sends them one by one, as an administrator, in a
-- database of its own. The reader may do everything: what keeps it from writing must be the gateway.

CREATE TABLE canary (id UInt32, note String) ENGINE = MergeTree ORDER BY id;
INSERT INTO canary VALUES (1, 'alive'), (2, 'and'), (3, 'well');
CREATE TABLE canary_sink (id UInt32, note String) ENGINE = Memory;
CREATE TABLE customers (id UInt32, name String, city LowCardinality(String), created_at DateTime('UTC')) ENGINE = MergeTree ORDER BY id;
INSERT INTO customers VALUES (1, 'Ada', 'Zürich', '2024-01-01 10:00:00'), (2, 'O\'Brien', 'Bern', '2024-02-01 10:00:00'), (3, 'DROP TABLE', 'Genève', '2024-03-01 10:00:00');
CREATE TABLE orders (id UInt32, customer_id UInt32, total Decimal(12, 2), note Nullable(String), tags Array(String), ordered_on Date) ENGINE = MergeTree ORDER BY (customer_id, id);
INSERT INTO orders VALUES (1001, 1, 12.50, NULL, ['new', 'gift'], '2024-04-01'), (1002, 2, 7.00, 'please DELETE; -- changed my mind', [], '2024-04-02'), (1003, 1, 100.10, 'ok', ['new'], '2024-04-03');
CREATE TABLE `Odd ``name; --` (`select` UInt8, `drop table` String, `ключ` UInt8) ENGINE = Memory;
INSERT INTO `Odd ``name; --` VALUES (1, 'x', 7);
CREATE VIEW order_totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id ORDER BY customer_id;
CREATE VIEW orders_of AS SELECT id, total FROM orders WHERE customer_id = {customer:UInt32} ORDER BY id;
CREATE TABLE file (url String, s3 UInt8) ENGINE = Memory;
INSERT INTO file VALUES ('https://example.org/a?b=c', 3);
