// Package wasmagent runs a directory of WebAssembly plugins as tools: sandboxed, each call in a state
// that no other call has touched, and with an error for every way to fail.
//
//	box, err := wasmagent.Open(ctx, "plugins", nil)
//	if err != nil {
//		return err
//	}
//	defer box.Close()
//	result, err := box.Call(ctx, "jq", []byte(`{"filter":".a","input":{"a":1}}`))
//
// That is all most programs need. What stands behind it may be used on its own: package loader turns
// directories into tools, package plugins keeps and calls tools of any kind, package host runs one guest.
//
// # Errors
//
// A call fails with a *plugins.ToolError of one of five kinds, to be asked for with errors.Is, and a
// typed cause, to be had with errors.As. plugins.FaultOf says whether the arguments, the world, the tool
// or the host is at fault; plugins.ModelText is the text to hand to a model.
package wasmagent
