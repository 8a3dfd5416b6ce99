package main

import (
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/loader/wasicmd"
)

// otherKinds are the contracts that plugins may be written to besides this project's own. They are
// made once, since an engine knows them by who they are. They are wasmagent.Kinds, and Extism's SDK in
// a process that is this program.
var otherKinds = sync.OnceValue(func() []loader.Kind {
	return []loader.Kind{extism.NewHyper(),
		extism.New(&extism.Options{SDKCommand: sdkCommand()}), wasicmd.New()}
})

// ownKind is what a policy calls this project's own contract.
const ownKind = "wasmagent"

// kindNames are what a policy may call the kind of a plugin, besides our own.
func kindNames() (names []string) {
	for _, k := range otherKinds() {
		names = append(names, k.Name())
	}
	return names
}

// kindNamed finds a kind; nil: there is none of that name.
func kindNamed(name string) loader.Kind {
	i := slices.Index(kindNames(), name)
	if i < 0 {
		return nil
	}
	return otherKinds()[i]
}

// describes tells whether a file is written to this project's own contract.
func describes(f *host.Facts) bool {
	return slices.ContainsFunc(f.Exports, func(e host.Export) bool {
		return e.Name == abi.ExportDescribe
	})
}

// functionsOf lists the functions of a file that can be tools once a policy says so; "" alone is a
// command.
func functionsOf(kind string, f *host.Facts) []string {
	if k, ok := kindNamed(kind).(loader.Adoptable); ok {
		return k.Functions(f)
	}
	return nil
}

// wantJSON is what a file would have to have to be of a kind.
type wantJSON struct {
	Kind  string `json:"kind"`
	Wants string `json:"wants"`
}

// wants says that of every kind.
func wants() []wantJSON {
	all := []wantJSON{{ownKind, "exports memory, " + abi.ExportDescribe + " and " + abi.ExportCall}}
	for _, k := range otherKinds() {
		if e, ok := k.(loader.Explainer); ok {
			all = append(all, wantJSON{k.Name(), e.Wants()})
		}
	}
	return all
}
