// Command wasmagent points at a directory of WebAssembly plugins, shows the tools in it, calls them
// with JSON and has a model call them, each in a sandbox that is given nothing unless its operator
// says so.
//
//	wasmagent demo                          build the example plugins and see all of it at work
//	wasmagent build ./weather               compile a Go plugin and stamp its manifest in
//	wasmagent check weather.wasm            is it a good plugin, and if not, where
//	wasmagent list                          the tools of the plugin directory
//	wasmagent inspect weather               what a plugin is, offers and asks for
//	wasmagent call weather_now -f city=Oslo one call
//	wasmagent run "Is it cold in Oslo?"     a model answers with the help of the tools
//	wasmagent chat --session trip           the same, line by line
//	wasmagent sessions show trip            what was said
//	wasmagent sessions import FILE          go on with one of Claude Code's or Codex's
//	wasmagent config                        what counts for runs, and where it comes from
//	wasmagent mcp install claude-code       have an MCP client offer the tools to its model
//	wasmagent ledger recover                what a crash left of calls that must happen once
//
// Results are written to stdout and everything else to stderr. With -o json an outcome, good or
// bad, is one JSON document on stdout. docs/cli.md lists the flags, the exit codes and the shapes
// of the JSON.
//
// The files: main.go and root.go hold the frame, exits.go the exit codes, problem.go turns every
// error into what is printed, print.go writes the three forms of output, catalog.go opens plugin
// directories, and each command has a file of its own; those of the ledger begin with ledger_, those
// of the MCP server with mcp, and internal/clients knows the settings of MCP clients. Of what run and
// chat share, agent.go makes the model, its tools and the session, teller.go tells what happens,
// ask.go asks for approval, and outcome.go says how a run ended.
package main
