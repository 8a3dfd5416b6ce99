// Package wasmagent runs a directory of WebAssembly plugins as tools: sandboxed, each call in a
// state that no other call has touched, and with an error for every way to fail.
//
//	box, err := wasmagent.Open(ctx, "plugins", nil)
//	if err != nil {
//		return err
//	}
//	defer box.Close()
//	result, err := box.Call(ctx, "jq", []byte(`{"filter":".a","input":{"a":1}}`))
//
// That is all most programs need. What stands behind it may be used on its own: package loader
// turns directories into tools, package plugins keeps and calls tools of any kind, package host
// runs one guest. Package agentloop lets a model call the tools: a Toolbox's Registry is what its
// Loop takes.
//
// # Errors
//
// A tool's failure is a *plugins.ToolError of one of five kinds, with a typed cause to be had by
// errors.As:
//
//	switch {
//	case errors.Is(err, plugins.ErrInvalidInput): // the arguments are wrong
//	case errors.Is(err, plugins.ErrMissingIdempotencyKey): // they yield no key; nothing ran
//	case errors.Is(err, plugins.ErrHandler): // it ran, and its work failed or took too long
//	case errors.Is(err, plugins.ErrMalformedResult): // it broke, or its reply cannot be read
//	case errors.Is(err, plugins.ErrOutputSerialization): // its result has no JSON form
//	}
//
// What is no tool's failure is no ToolError: a tool that is not there is a
// *plugins.UnknownToolError, and a deadline or cancellation of the caller's own is ctx's error. (A
// tool past its own time limit is ErrHandler, and matches context.DeadlineExceeded too, so ask for
// the kinds first.)
//
// plugins.FaultOf says whether the arguments, the world, the tool or the host is at fault;
// plugins.ModelText is the text to hand to a model.
package wasmagent
