"""The server: who may see a page, which address shows which screen, and what is told while somebody looks."""
