package wasmagent

import (
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/loader/wasicmd"
)

// Kinds makes the contracts besides this project's own that plugins may be written to: hyper-mcp's
// and mcp.run's, Extism's, and WASI commands. A file says by what it exports and imports which one it
// is written to; they are asked in this order. Those of one engine are made once.
func Kinds() []loader.Kind {
	return []loader.Kind{extism.NewHyper(), extism.New(nil), wasicmd.New()}
}
