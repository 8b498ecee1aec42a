"""Pages: one HTML file each, which needs nothing else, and no network.

html_page       paragraphs, drawn charts and plain tables: no script
script_page     charts that are hovered and zoomed, tables that are sorted and filtered
parts, plots    what such a page is made of: values, and drawings in Vega-Lite without their data
chart_script    the script that draws them, made once and kept
policy          what a browser may run and fetch for a page: its own script and style, nothing else

`page.js` and `page.css` are what is the same in every page with a script.
"""
