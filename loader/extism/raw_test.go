package extism

import (
	"context"

	"github.com/wasmagent/wasmagent/loader"
)

// Raw calls a function of a plugin in the native engine, and gives the bytes of its output.
func Raw(ctx context.Context, m loader.Module, export string, input []byte) ([]byte, error) {
	out, _, err := m.(*module).run(ctx, export, input, nil)
	return out, err
}
