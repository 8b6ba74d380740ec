"""The dashboard's screens: pages made of what is on record, with the report's colours, tables and figures."""
