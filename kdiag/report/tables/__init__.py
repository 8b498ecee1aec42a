"""The tables that exchanges become: columns and rows."""
