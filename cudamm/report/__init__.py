"""What people look at, made from records: tables, a course report's lines, JSON. Knows no device."""
