// Package pluginstest tests implementations of plugins.Tool and plugins.Ledger, and has a tool that
// spies on its calls.
//
//	func TestMine(t *testing.T) {
//		pluginstest.Ledger(t, func() plugins.Ledger { return mine.Open(t.TempDir()) })
//	}
package pluginstest
