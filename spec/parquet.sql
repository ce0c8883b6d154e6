-- The tables of pyconv --to parquet, version 2 (spec/fleet.md 6), as views of
-- DuckDB, under the names that they have in PostgreSQL.  In the folder:
--     duckdb -init parquet.sql
CREATE SCHEMA IF NOT EXISTS pyrec;
CREATE OR REPLACE VIEW pyrec.profile AS SELECT * FROM read_parquet('*/profile.parquet');
CREATE OR REPLACE VIEW pyrec.label AS SELECT * FROM read_parquet('*/label.parquet');
CREATE OR REPLACE VIEW pyrec.meta AS SELECT * FROM read_parquet('*/meta.parquet');
CREATE OR REPLACE VIEW pyrec.process AS SELECT * FROM read_parquet('*/process.parquet');
CREATE OR REPLACE VIEW pyrec.thread AS SELECT * FROM read_parquet('*/thread.parquet');
CREATE OR REPLACE VIEW pyrec.file AS SELECT DISTINCT * FROM read_parquet('*/file.parquet');
CREATE OR REPLACE VIEW pyrec.function AS SELECT DISTINCT * FROM read_parquet('*/function.parquet');
CREATE OR REPLACE VIEW pyrec.node AS SELECT * FROM read_parquet('*/node.parquet');
CREATE OR REPLACE VIEW pyrec.run AS SELECT * FROM read_parquet('*/run.parquet');
CREATE OR REPLACE VIEW pyrec.node_self AS SELECT * FROM read_parquet('*/node_self.parquet');
CREATE OR REPLACE VIEW pyrec.function_total AS SELECT * FROM read_parquet('*/function_total.parquet');
CREATE OR REPLACE VIEW pyrec.edge_total AS SELECT * FROM read_parquet('*/edge_total.parquet');
CREATE OR REPLACE VIEW pyrec.event AS SELECT * FROM read_parquet('*/event.parquet');
CREATE OR REPLACE VIEW pyrec.loss AS SELECT * FROM read_parquet('*/loss.parquet');
CREATE OR REPLACE VIEW pyrec.functions AS SELECT profile, function AS function_hash, qualname AS function, path AS file, first_line AS line, module, class, kind, self_n AS self_samples, self_us / 1e6 AS self_s, self_ran_n AS self_ran_samples, self_ran_us / 1e6 AS self_ran_s, total_n AS total_samples, total_us / 1e6 AS total_s FROM pyrec.function_total JOIN pyrec.function USING (function) JOIN pyrec.file USING (file);
CREATE OR REPLACE VIEW pyrec.callers AS SELECT profile, f.qualname AS function, c.qualname AS caller, cf.path AS file, self_n AS self_samples, total_n AS total_samples, total_us / 1e6 AS total_s FROM pyrec.edge_total AS e JOIN pyrec.function AS f ON f.function = callee LEFT JOIN pyrec.function AS c ON c.function = caller LEFT JOIN pyrec.file AS cf ON cf.file = c.file;
