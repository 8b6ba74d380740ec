"""The dashboard: runs as they stand, in a browser of this machine.

It reads ledgers and tables, and writes nothing. What it can be asked to do, resume and cancel, is what a user may type:
the command is started in a process of its own, once the user has said so twice.

    known_runs, run_tables, row_index, row_search, item_records, arm_comparison   what is read
    commands                                                                      what is started
    screens/                                                                      pages, made of that
    web/                                                                          the server; the only network code
"""
