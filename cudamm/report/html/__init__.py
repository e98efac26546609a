"""One self-contained HTML page of a file of results: what `cudamm report` writes.

`rows` and `kernels` read the file's records, `elements` builds what a browser reads, `page` puts the sections
together. Beside them lie the page's own style and script, and uPlot, which draws the charts (`uPlot.md`).
"""
