"""The tables of a results file (src/campaign/store.c), for tests that fill them by hand."""

SCHEMA = """
CREATE TABLE campaigns(name TEXT PRIMARY KEY, summary TEXT NOT NULL, description TEXT NOT NULL);
CREATE TABLE members(campaign TEXT NOT NULL, ordinal INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(campaign, ordinal));
CREATE TABLE cases(key TEXT PRIMARY KEY, gpu TEXT NOT NULL, policy TEXT NOT NULL, applications TEXT NOT NULL,
  cycles INTEGER NOT NULL, seed INTEGER NOT NULL, isolated INTEGER NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
  ended TEXT NOT NULL, wall_seconds REAL, stp REAL, antt REAL, fairness REAL, energy_joules REAL,
  dram_utilisation REAL, icnt_utilisation REAL, result TEXT);
CREATE TABLE applications(key TEXT NOT NULL, position INTEGER NOT NULL, workload TEXT NOT NULL, size TEXT NOT NULL,
  goal TEXT NOT NULL, goal_met INTEGER, ipc REAL, ipc_isolated REAL, normalised_ipc REAL, runs INTEGER, cycles INTEGER,
  thread_instructions INTEGER, PRIMARY KEY(key, position));
"""
