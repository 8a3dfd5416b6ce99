package main

import "github.com/wasmagent/wasmagent/plugins"

// demoCall is a call that the demo shows.
type demoCall struct {
	Section string // the heading that it stands under
	Says    string // what to see in it
	Tool    string
	Input   string       // JSON
	Key     string       // idempotency path, "" for none
	Fails   plugins.Kind // the kind of error to show; 0 for a result
}

const (
	demoGood = "Calls"
	demoSpy  = "A plugin that nobody should trust"
	demoBad  = "What goes wrong, in five kinds"
)

var demoCalls = []demoCall{
	{
		Section: demoGood, Tool: "jq", Says: "Pick and reshape JSON.",
		Input: `{"filter": "map(select(.open)) | {titles: map(.title), votes: map(.votes) | add}", ` +
			`"input": [{"title": "Tables lose their header", "open": true, "votes": 12}, ` +
			`{"title": "Typo in the guide", "open": false, "votes": 1}, ` +
			`{"title": "Slow on large files", "open": true, "votes": 30}]}`,
	},
	{
		Section: demoGood, Tool: "starlark", Says: "Compute instead of guessing.",
		Input: `{"code": "rate = 0.035\nbalance = 1000.0\nfor _ in range(years):\n` +
			`    balance += balance * rate\nround(balance, 2)", "globals": {"years": 12}}`,
	},
	{
		Section: demoGood, Tool: "table", Says: "Ask a CSV file.",
		Input: `{"csv": "city,day,rain\nBergen,Mon,31.5\nOslo,Mon,2\nBergen,Tue,12.25\nOslo,Tue,0\n", ` +
			`"group_by": ["city"], "aggregate": [{"op": "sum", "column": "rain", "as": "mm"}], ` +
			`"sort": [{"column": "mm", "desc": true}]}`,
	},
	{
		Section: demoGood, Tool: "html_to_markdown", Says: "Read a page without its clutter.",
		Input: `{"html": "<nav>Menu</nav><main><h1>Release 2</h1><p>Now with <b>limits</b>; see ` +
			`<a href=\"/docs\">the docs</a>.</p><script>track()</script></main>", ` +
			`"base_url": "https://example.org/", "main_only": true}`,
	},
	{
		Section: demoGood, Tool: "date_convert", Says: "Ask when it is elsewhere.",
		Input: `{"date": "2027-03-26 18:30", "zone": "Europe/London", "to": ["Asia/Kolkata"]}`,
	},
	{
		Section: demoGood, Tool: "diff_texts", Says: "See what changed.",
		Input: `{"old": "one\ntwo\nthree\n", "new": "one\n2\nthree\n"}`,
	},
	{
		Section: demoSpy, Tool: "count_words",
		Says: "It counts words, and tries to read a private key and to post it. What it tried is in " +
			"its answer;\nnothing was granted to it, so nothing was read, and nothing has left.",
		Input: `{"text": "to be or not to be"}`,
	},
	{
		Section: demoBad, Tool: "jq", Fails: plugins.ErrInvalidInput,
		Says:  "The input does not fit the tool's schema: the tool is not run.",
		Input: `{"filter": 7}`,
	},
	{
		Section: demoBad, Tool: "keyed", Fails: plugins.ErrMissingIdempotencyKey, Key: "order",
		Says:  "The operator wants one call an order, and no order is named: the tool is not run.",
		Input: `{}`,
	},
	{
		Section: demoBad, Tool: "fail", Fails: plugins.ErrHandler,
		Says:  "The tool ran, and reports that its work failed.",
		Input: `{"message": "the weather station does not answer"}`,
	},
	{
		Section: demoBad, Tool: "panic", Fails: plugins.ErrMalformedResult,
		Says:  "The tool broke in the middle: there is no result to trust.",
		Input: `{}`,
	},
	{
		Section: demoBad, Tool: "not_a_number", Fails: plugins.ErrOutputSerialization,
		Says:  "The tool's result has no JSON form.",
		Input: `{}`,
	},
}
