"""The self-contained HTML page that `cudamm report` writes."""
