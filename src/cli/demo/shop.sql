-- A small wholesale shop: what it sells, to whom, and what was ordered in the first half of 2026.
CREATE TABLE customers (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    country TEXT NOT NULL,
    since   DATE NOT NULL
);
INSERT INTO customers (id, name, country, since) VALUES
    (1, 'Blue Kite Books', 'IE', '2021-03-01'),
    (2, 'Harbour Cycles', 'DK', '2021-09-14'),
    (3, 'Nordlicht Optik', 'DE', '2022-01-20'),
    (4, 'Café Meridian', 'FR', '2022-05-02'),
    (5, 'Granite & Pine', 'FI', '2022-11-30'),
    (6, 'Olive Branch Deli', 'IT', '2023-02-17'),
    (7, 'Paper Lantern', 'PT', '2023-08-08'),
    (8, 'Tall Ship Outfitters', 'NL', '2024-04-25');

CREATE TABLE products (
    id          INTEGER PRIMARY KEY,
    sku         TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    category    TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0)
);
INSERT INTO products (id, sku, name, category, price_cents) VALUES
    (1, 'LMP-01', 'Desk lamp, brass', 'lighting', 8900),
    (2, 'LMP-02', 'Reading lamp, clip-on', 'lighting', 3450),
    (3, 'SHF-01', 'Wall shelf, oak', 'furniture', 12900),
    (4, 'STL-01', 'Stool, three legs', 'furniture', 7450),
    (5, 'MUG-01', 'Mug, stoneware', 'kitchen', 1290),
    (6, 'KTL-01', 'Kettle, enamel', 'kitchen', 4990),
    (7, 'BAG-01', 'Tote bag, canvas', 'textiles', 1890),
    (8, 'BLK-01', 'Blanket, wool', 'textiles', 11900);

CREATE TABLE orders (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    ordered_on  DATE NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('open', 'paid', 'shipped', 'cancelled'))
);
CREATE INDEX orders_of_customer ON orders (customer_id, ordered_on);

CREATE TABLE order_lines (
    order_id    INTEGER NOT NULL REFERENCES orders (id),
    product_id  INTEGER NOT NULL REFERENCES products (id),
    quantity    INTEGER NOT NULL CHECK (quantity > 0),
    price_cents INTEGER NOT NULL,
    PRIMARY KEY (order_id, product_id)
) WITHOUT ROWID;

-- The same orders each time: 120 over half a year, each of one to three products.
INSERT INTO orders (id, customer_id, ordered_on, status)
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 120)
SELECT
    1000 + i,
    1 + (i * 5 + i / 7 + i * i / 11) % 8,
    date('2026-01-02', '+' || (i * 3 / 2) || ' days'),
    CASE WHEN i % 19 = 0 THEN 'cancelled' WHEN i > 114 THEN 'open' WHEN i > 108 THEN 'paid' ELSE 'shipped' END
FROM n;

INSERT INTO order_lines (order_id, product_id, quantity, price_cents)
WITH RECURSIVE k(line) AS (VALUES (0), (1), (2))
SELECT o.id, p.id, 1 + (o.id * 7 + p.id * 3) % 9, p.price_cents
FROM orders AS o
JOIN k ON k.line <= o.id % 3
JOIN products AS p ON p.id = 1 + (o.id * 3 + k.line * 5) % 8;
