package main

import (
	"sync"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// otherKinds are the contracts that plugins may be written to besides this project's own. They are
// made once, since an engine knows them by who they are.
var otherKinds = sync.OnceValue(func() []loader.Kind {
	return []loader.Kind{extism.New(&extism.Options{SDKCommand: selfCommand(sdkVerb)})}
})
