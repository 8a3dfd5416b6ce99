// Package hosttest is the test kit for whatever runs plugins: an engine for tests, small plugins
// made from code, good and bad, and real Go plugins built once and shared by all tests.
//
//	engine := hosttest.Engine(t)
//	mod, err := engine.Compile(ctx, hosttest.Tiny("greet"), host.Policy{})
//
// A [Plugin] says what a small plugin is called, which tools it lists and what a call of it does;
// the bodies [Echo], [Reply], [Loop], [Trap] and the others are what calls can do, and [Instrs] is
// anything else, in the assembler of hosttest/asm. [GoPlugin] compiles a directory with the local
// Go tool chain.
//
// [Hostile] gives more than a hundred plugins that mean harm, each with the answer that it must
// get, for whoever runs plugins:
//
//	for c := range hosttest.Hostile() {
//		if err := c.Try(ctx, engine); err != nil {
//			t.Error(err)
//		}
//	}
package hosttest
