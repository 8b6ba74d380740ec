"""PostgreSQL under the ledger: the extra `postgres`."""
