// Package explorer is the web page at /ui/: what clusters cost, and why it changed. It is plain HTML, CSS and ES modules, embedded
// as they are, without a build step. Nothing comes from another host; all addresses are relative, so that the page works below a
// prefix and behind the API server's proxy.
//
//	index.html   the frame, painted before any script runs
//	app.js       state and URL, the table of views, the toolbar, the footer
//	api.js       requests to promcost
//	footer.js    warnings by kind, and how an answer was made
//	format.js    money, bounds, bytes and times as text
//	table.js     tables of up to tens of thousands of rows
//	chart.js     stacked bars (uPlot), treemap and waterfall (SVG)
//	glossary.js  what the words of the page mean
//	help.js      shows that beside a word
//	histogram.js usage of containers, with their requests (SVG)
//	sparkline.js costs over time, small (SVG)
//	lines.js     requests, usage and limits over time (uPlot)
//	filter.js    the filter box and its completion
//	saved.js     saved views, of the configuration and of the browser
//	picture.js   the PNG of a view
//	promql.js    the PromQL expression that yields what a table says
//	parts.js     small parts that several views have
//	dom.js       elements; data only ever becomes text
//	views/       one module a view, and what several of them show
//	uplot/       uPlot 1.6.32, as published (MIT)
//
// A view is a module below views and a row in app.js' table VIEWS. Titles of its columns and tiles are words of the glossary. It exports
//
//	export const controls = ["window", "aggregate", …];  // what of the toolbar it heeds
//	export async function show(root, ctx)                // fills root, an empty element that is not on the page yet
//
// root replaces the view before it once show's promise resolves, so await what the view cannot do without, and fill in the rest later.
// show returns nothing, or a function that frees what the view holds. A view is shown anew for every change of state. ctx has:
//
//	state                the state, all strings, as in the URL: view, window, baseline, aggregate, filter, path, idle, … (state.js)
//	go(patch, replace)   changes the state and the URL, and shows the view anew; replace leaves no entry in the history
//	ask(path, params, heard)  asks promcost, as {data, warnings, resolution, …}. It ends when the view goes; warnings, resolution and time appear in
//	                     the footer, unless heard is false, as for what only adds to the numbers. An error that is thrown out of show is shown with the server's text.
//	offer({path, params, window, baseline, csv, promql})  what the buttons curl, CSV and PromQL give: a path and its parameters; csv are the parameters to add for CSV;
//	                     without them CSV is the tables of the view; promql is {expression} or {reason}
//	signal               aborts when the view goes
//	format               money, ratio, bytes, time, … in the currency and the time zone
//	notice(text)         says something above the view, and to screen readers
package explorer
