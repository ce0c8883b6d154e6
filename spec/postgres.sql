-- The tables of pyconv --to postgres, version 2 (spec/fleet.md 5).  A script of
-- pyconv begins with these statements; psql runs them alone as well.
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
SET client_min_messages = 'warning';
BEGIN;
SELECT pg_advisory_xact_lock(1348031045) \g /dev/null
CREATE SCHEMA IF NOT EXISTS pyrec;
CREATE TABLE IF NOT EXISTS pyrec.version(version integer PRIMARY KEY);
INSERT INTO pyrec.version SELECT 2 WHERE NOT EXISTS (SELECT 1 FROM pyrec.version);
DO $$ BEGIN IF (SELECT max(version) FROM pyrec.version) <> 2 THEN
RAISE EXCEPTION 'the tables of schema pyrec have another version';
END IF; END $$;
CREATE TABLE IF NOT EXISTS pyrec.profile(profile bigint, source text, recording text, host text, command text, commit_id text, python text, mode text, capture text, time text, wall_us bigint, start_us bigint, interval_us bigint, duration_us bigint, samples bigint, weight_us bigint, unobserved_us bigint, ran_n bigint, ran_us bigint, knows_ran smallint, knows_cpu smallint, knows_waiting smallint, PRIMARY KEY (profile));
CREATE TABLE IF NOT EXISTS pyrec.label(profile bigint, key text, value text, PRIMARY KEY (profile, key));
CREATE TABLE IF NOT EXISTS pyrec.meta(profile bigint, key text, value text, PRIMARY KEY (profile, key));
CREATE TABLE IF NOT EXISTS pyrec.process(profile bigint, process integer, pid bigint, parent_pid bigint, command text, python text, t0_us bigint, t1_us bigint, cgroup_periods bigint, cgroup_throttled bigint, throttled_us bigint, PRIMARY KEY (profile, process));
CREATE TABLE IF NOT EXISTS pyrec.thread(profile bigint, thread integer, process integer, tid bigint, interp bigint, name text, is_main smallint, t0_us bigint, t1_us bigint, samples bigint, weight_us bigint, unobserved_us bigint, proven bigint, sleeping bigint, unproven bigint, stopped bigint, lost bigint, left_out bigint, cpu_us bigint, cpu_wait_us bigint, gil_wait_us bigint, switches_voluntary bigint, switches_involuntary bigint, PRIMARY KEY (profile, thread));
CREATE TABLE IF NOT EXISTS pyrec.file(file bigint, path text, base text, module text, class text, PRIMARY KEY (file));
CREATE TABLE IF NOT EXISTS pyrec.function(function bigint, file bigint, qualname text, name text, first_line integer, kind text, PRIMARY KEY (function));
CREATE TABLE IF NOT EXISTS pyrec.node(profile bigint, node integer, parent integer, last integer, depth integer, function bigint, line integer, is_first_fn smallint, is_first_line smallint, is_first_edge smallint, PRIMARY KEY (profile, node));
CREATE TABLE IF NOT EXISTS pyrec.run(profile bigint, run bigint, thread integer, node integer, status smallint, t0_us bigint, t1_us bigint, n bigint, weight_us bigint, PRIMARY KEY (profile, run));
CREATE TABLE IF NOT EXISTS pyrec.node_self(profile bigint, number bigint, node integer, thread integer, status smallint, n bigint, weight_us bigint, PRIMARY KEY (profile, number));
CREATE TABLE IF NOT EXISTS pyrec.function_total(profile bigint, function bigint, self_n bigint, self_us bigint, self_ran_n bigint, self_ran_us bigint, total_n bigint, total_us bigint, total_ran_n bigint, total_ran_us bigint, PRIMARY KEY (profile, function));
CREATE TABLE IF NOT EXISTS pyrec.edge_total(profile bigint, callee bigint, caller bigint, self_n bigint, self_us bigint, total_n bigint, total_us bigint, PRIMARY KEY (profile, callee, caller));
CREATE TABLE IF NOT EXISTS pyrec.event(profile bigint, event bigint, process integer, thread integer, kind text, t0_us bigint, t1_us bigint, detail text, PRIMARY KEY (profile, event));
CREATE TABLE IF NOT EXISTS pyrec.loss(profile bigint, loss bigint, process integer, thread integer, reason text, n bigint, PRIMARY KEY (profile, loss));
CREATE OR REPLACE VIEW pyrec.functions AS SELECT profile, function AS function_hash, qualname AS function, path AS file, first_line AS line, module, class, kind, self_n AS self_samples, self_us / 1e6 AS self_s, self_ran_n AS self_ran_samples, self_ran_us / 1e6 AS self_ran_s, total_n AS total_samples, total_us / 1e6 AS total_s FROM pyrec.function_total JOIN pyrec.function USING (function) JOIN pyrec.file USING (file);
CREATE OR REPLACE VIEW pyrec.callers AS SELECT profile, f.qualname AS function, c.qualname AS caller, cf.path AS file, self_n AS self_samples, total_n AS total_samples, total_us / 1e6 AS total_s FROM pyrec.edge_total AS e JOIN pyrec.function AS f ON f.function = callee LEFT JOIN pyrec.function AS c ON c.function = caller LEFT JOIN pyrec.file AS cf ON cf.file = c.file;
COMMIT;
