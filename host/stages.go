package host

import (
	"bytes"
	"context"
	"errors"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
)

// load takes a first instance through the stages, so that what cannot work is refused here and not in
// a call, and learns the manifest.
func (m *Module) load(ctx context.Context, wasm []byte, facts *factReader) error {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.end()
	in, err := m.instantiate(ctx, nil)
	if err != nil {
		return err
	}
	defer in.close()

	r := m.newRun("describe", nil)
	r.maxReply = abi.MaxManifestBytes
	if err := in.enter(ctx, r, abi.ExportDescribe); err != nil {
		return err
	}
	if m.manifest, err = readManifest(r, wasm); err != nil {
		return &LoadError{Stage: "manifest", Err: err}
	}
	if missing := missingGrants(facts, &m.manifest); len(missing) > 0 {
		return &LoadError{Stage: "grants", Err: &GrantError{Missing: missing}}
	}
	return in.enter(ctx, m.newRun("warmup", nil), abi.ExportWarmup)
}

// readManifest decodes what describe pushed and holds it against the copy in the file, which may
// have been read, and believed, without running the plugin.
func readManifest(r *run, wasm []byte) (abi.Manifest, error) {
	if !r.replied {
		return abi.Manifest{}, &ContractError{Detail: abi.ExportDescribe + " pushed no manifest",
			NoReply: true}
	}
	manifest, err := abihost.ParseManifest(r.reply)
	if err != nil {
		return abi.Manifest{}, err
	}
	stamped, ok, err := abihost.Section(wasm)
	if err != nil {
		return abi.Manifest{}, err
	}
	if ok && !bytes.Equal(stamped, r.reply) {
		return abi.Manifest{}, errors.New("the plugin describes itself otherwise than its section " +
			abi.ManifestSection + " does: stamp it again")
	}
	return manifest, nil
}
