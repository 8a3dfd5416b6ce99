//go:build !noextismsdk

package main

import (
	"os"
	"slices"

	"github.com/wasmagent/wasmagent/loader/extism/sdkchild"
)

// sdkVerb runs one plugin in Extism's SDK.
const sdkVerb = "__extism_sdk"

// sdkCommand runs this program with that verb.
func sdkCommand() []string { return selfCommand(sdkVerb) }

// beSDK does what the verb says, if it was given: it does not return then.
func beSDK() {
	if slices.Equal(os.Args[1:], []string{sdkVerb}) {
		os.Exit(sdkchild.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
}
