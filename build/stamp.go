package build

import (
	"context"
	"os"
	"path/filepath"

	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
)

// Stamp describes a finished module in the sandbox and gives the module with that description in
// its custom section; an earlier one is replaced. It needs no grants, whatever the module asks for.
func Stamp(ctx context.Context, e *host.Engine, wasm []byte) ([]byte, error) {
	manifest, err := e.Describe(ctx, wasm, host.Policy{})
	if err != nil {
		return nil, err
	}
	return abihost.Stamp(wasm, manifest)
}

// WriteFile writes a plugin so that path holds the old file or the whole new one, at any moment.
func WriteFile(path string, wasm []byte) error {
	return replaceFile(path, func(f *os.File) error {
		_, err := f.Write(wasm)
		return err
	})
}

// pluginMode lets everybody read a plugin.
const pluginMode = 0o644

// replaceFile puts what write makes of a temporary file beside path into path's place. write may
// replace the file itself, as the go command does, since it is closed before it is renamed.
func replaceFile(path string, write func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is left to remove when it was renamed
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), pluginMode); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
