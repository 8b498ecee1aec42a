"""How results are shown: tables, charts, lines, pages."""
