// Package conform tells whether a module is a good plugin: that it keeps the contract, and that it
// behaves as one when it is called. Authors of plugins, of kits and of tool chains can run it on
// what they made; "wasmagent check" does.
//
//	report, err := conform.Check(ctx, engine, wasm, nil)
//	for _, f := range report.Findings {
//		fmt.Println(f.Level, f.Where, f.Text)
//	}
//
// It loads the plugin, and calls each of its tools a few times, with nothing granted and time and
// randomness fixed: equal calls must end alike, a request may have keys that the plugin has never
// heard of, and a caller who gives up must be let go. What is an [Error] keeps the plugin, or a
// tool of it, from working; a [Warning] does not.
package conform
