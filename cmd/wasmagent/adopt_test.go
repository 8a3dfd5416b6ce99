package main

import (
	"fmt"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// As many functions as a plugin may have tools are adopted, and not one more: the section would be
// of a plugin that cannot be loaded.
func TestAdoptedTools(t *testing.T) {
	pl := &loader.Plugin{Name: "many", Kind: "extism"}
	for _, more := range []int{0, 1} {
		var f host.Facts
		for i := range abi.MaxTools + more {
			f.Exports = append(f.Exports,
				host.Export{Name: fmt.Sprint("f", i), Kind: "func", Type: "() -> i32"})
		}
		section, err := new(app).adoption(&adoption{}, pl, &f)
		if (err == nil) != (more == 0) || err == nil && len(section.Functions) != abi.MaxTools {
			t.Errorf("%d more: %v", more, err)
		}
		some, err := new(app).adoption(&adoption{functions: []string{"f3"}}, pl, &f)
		if err != nil || len(some.Functions) != 1 {
			t.Errorf("one of %d more: %v", more, err)
		}
	}
}
