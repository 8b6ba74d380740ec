"""What is drawn and asked in a terminal, by commands and by tasks: text that fits, tables, flags."""
