-- The database every case of attacks.toml, honest.toml and golden.toml runs against: run it once, with a writing
-- connection, in a fresh file. To add to it, append tables or rows at the end and leave what is here as it is.

PRAGMA foreign_keys = ON;
BEGIN;

-- Three rows that no case may change. A harness reads them before and after.
CREATE TABLE canary (id INTEGER PRIMARY KEY, note TEXT);
INSERT INTO canary VALUES (1, 'yellow'), (2, 'green'), (3, 'still singing');

-- STRICT, foreign keys, a self reference.
CREATE TABLE person (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    email    TEXT UNIQUE,
    born     TEXT,
    manager  INTEGER REFERENCES person (id) ON DELETE SET NULL,
    score    REAL,
    photo    BLOB,
    extra    ANY
) STRICT;
INSERT INTO person (id, name, email, born, manager, score, photo, extra) VALUES
    (1, 'Oak',    'oak@example.org',   '2001-12-10', NULL, 9.5,  x'89504e47', 1),
    (2, 'Birch',  'birch@example.org', '1986-12-09', 1,    9.25, NULL,        'one'),
    (3, 'Cedar',  NULL,                '1970-05-11', 1,    -0.5, x'',         x'01'),
    (4, 'Świerk', 'swierk@example.org', NULL,        2,    NULL, x'00ff00',   1.5),
    (5, '松',     'matsu@example.org', '1990-01-01', 2,    0.0,  NULL,        NULL);

-- AUTOINCREMENT, CHECK, JSON as text, decimal kept as text, a generated column of each sort.
CREATE TABLE invoice (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    person_id  INTEGER NOT NULL REFERENCES person (id) ON DELETE CASCADE,
    status     TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'void')),
    net        DECIMAL(12, 2) NOT NULL,
    amount     TEXT NOT NULL,
    paid       BOOLEAN NOT NULL DEFAULT 0,
    issued     DATETIME,
    tags       JSON,
    gross      REAL GENERATED ALWAYS AS (round(net * 1.19, 2)) VIRTUAL,
    label      TEXT GENERATED ALWAYS AS (status || '/' || id) VIRTUAL,
    slug       TEXT GENERATED ALWAYS AS (replace(lower(amount), '.', '-')) STORED
);
INSERT INTO invoice (id, person_id, status, net, amount, paid, issued, tags) VALUES
    (10, 1, 'open', 100,     '100.00',                 0, '2026-01-31 08:00:00',     '{"colour":"red","items":[1,2,3]}'),
    (11, 1, 'paid', 12.5,    '12.50',                  1, '2026-02-28T23:59:59Z',    '["a","b"]'),
    (12, 2, 'paid', 0.1,     '0.10',                   1, '2026-03-01',              NULL),
    (13, 3, 'void', -7,      '-7',                     0, NULL,                      '{"nested":{"deep":{"n":1.50,"big":12345678901234567890}}}'),
    (14, 5, 'open', 9999999, '12345678901234567890.1', 0, '2026-04-01 00:00:00.123', 'null');
CREATE INDEX invoice_open ON invoice (person_id, issued) WHERE status = 'open';
CREATE INDEX invoice_slug ON invoice (replace(amount, '.', ''), instr(amount, '.'));
CREATE UNIQUE INDEX person_lower_email ON person (lower(email));

-- WITHOUT ROWID with a composite key.
CREATE TABLE rate (
    currency  TEXT COLLATE NOCASE,
    day       TEXT,
    value     REAL NOT NULL,
    PRIMARY KEY (currency, day)
) WITHOUT ROWID;
INSERT INTO rate VALUES ('EUR', '2026-01-01', 1.0), ('USD', '2026-01-01', 1.08), ('USD', '2026-01-02', 1.09), ('jpy', '2026-01-01', 160.5);

-- No declared types at all, one value of every storage class.
CREATE TABLE loose (k, v);
INSERT INTO loose VALUES
    ('integer', 42), ('max', 9223372036854775807), ('min', -9223372036854775808), ('real', 1.5), ('text', 'hello'),
    ('blob', x'00010203'), ('null', NULL), ('empty text', ''), ('empty blob', x''), ('infinity', 9e999), ('nul', 'a' || char(0) || 'b'),
    ('not utf-8', CAST(x'61ff62' AS TEXT));

-- Names that trip a reader who matches words.
CREATE TABLE "Delete" (id INTEGER PRIMARY KEY, "update" TEXT, "drop" INTEGER);
INSERT INTO "Delete" VALUES (1, 'insert', 10), (2, 'replace', 20);
CREATE TABLE "select" ("from" TEXT, "where" TEXT, "group by" TEXT);
INSERT INTO "select" VALUES ('f', 'w', 'g');
CREATE TABLE "we""ird; DROP TABLE canary; --" ("a""b" TEXT, "c d" INTEGER, [e f] TEXT);
INSERT INTO "we""ird; DROP TABLE canary; --" VALUES ('q', 1, 'z');
CREATE TABLE "größe_表" ("höhe" REAL, "名前" TEXT);
INSERT INTO "größe_表" VALUES (1.25, '山'), (2.5, '😀');
CREATE TABLE pragma (attach TEXT, vacuum INTEGER);
INSERT INTO pragma VALUES ('begin', 1);

-- Views: an ordinary one, one over the reimplemented functions, one with an INSTEAD OF trigger.
CREATE VIEW open_invoice AS
    SELECT i.id, p.name, i.amount FROM invoice AS i JOIN person AS p ON p.id = i.person_id WHERE i.status = 'open';
CREATE VIEW mail_domain AS
    SELECT id, substr(email, instr(email, '@') + 1) AS domain, replace(email, '@', ' at ') AS spoken FROM person;
CREATE VIEW canary_view AS SELECT id, note FROM canary;
CREATE TRIGGER canary_view_insert INSTEAD OF INSERT ON canary_view BEGIN
    INSERT INTO canary (note) VALUES (NEW.note);
END;
CREATE TRIGGER canary_view_update INSTEAD OF UPDATE ON canary_view BEGIN
    UPDATE canary SET note = NEW.note WHERE id = OLD.id;
END;
CREATE TABLE audit (at TEXT, what TEXT);
CREATE TRIGGER person_audit AFTER UPDATE OF name ON person BEGIN
    INSERT INTO audit VALUES (datetime('now'), 'renamed ' || OLD.name);
END;

-- Full text: FTS5 with its own content, FTS5 over another table, its vocabulary, and FTS4.
CREATE VIRTUAL TABLE article USING fts5 (title, body, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO article (rowid, title, body) VALUES
    (1, 'Gateway', 'A gateway reads the store through a door that cannot write'),
    (2, 'Store',   'The store keeps every version; a reader never blocks'),
    (3, 'Café',    'Déjà vu: the door, the door and the door again');
CREATE VIRTUAL TABLE person_search USING fts5 (name, email, content = 'person', content_rowid = 'id');
INSERT INTO person_search (person_search) VALUES ('rebuild');
CREATE VIRTUAL TABLE article_vocab USING fts5vocab ('article', 'row');
CREATE VIRTUAL TABLE memo USING fts4 (text);
INSERT INTO memo (docid, text) VALUES (1, 'buy milk'), (2, 'sell milk and honey');
CREATE VIEW found AS SELECT rowid AS id, title FROM article ('door');

-- R-tree, with an auxiliary column, and one of integers.
CREATE VIRTUAL TABLE place USING rtree (id, min_x, max_x, min_y, max_y, +name);
INSERT INTO place VALUES (1, 0, 10, 0, 10, 'square'), (2, 5, 6, 5, 6, 'kiosk'), (3, -20, -10, -20, -10, 'far away');
CREATE VIRTUAL TABLE span USING rtree_i32 (id, low, high);
INSERT INTO span VALUES (1, 1, 5), (2, 4, 9);

COMMIT;
