package host

import (
	"bytes"
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
)

// load takes a first instance through the stages, so that what cannot work is refused here and not
// in a call, and learns the manifest.
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

	raw, err := m.describe(ctx, in)
	if err != nil {
		return err
	}
	if m.manifest, err = readManifest(raw, wasm); err != nil {
		return &LoadError{Stage: "manifest", Err: err}
	}
	if missing := missingGrants(facts, &m.manifest); len(missing) > 0 {
		return &LoadError{Stage: "grants", Err: &GrantError{Missing: missing}}
	}
	return in.enter(ctx, m.newRun(stageWarmup, nil), abi.ExportWarmup)
}

// describeOnce takes a first instance as far as its manifest, which is checked and given as it is.
func (m *Module) describeOnce(ctx context.Context) ([]byte, error) {
	if err := m.begin(); err != nil {
		return nil, err
	}
	defer m.end()
	in, err := m.instantiate(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer in.close()
	raw, err := m.describe(ctx, in)
	if err != nil {
		return nil, err
	}
	if _, err := abihost.ParseManifest(raw); err != nil {
		return nil, &LoadError{Stage: "manifest", Err: err}
	}
	return raw, nil
}

// describe lets an instance push its manifest.
func (m *Module) describe(ctx context.Context, in *instance) ([]byte, error) {
	r := m.newRun(stageDescribe, nil)
	r.maxReply = abi.MaxManifestBytes
	if err := in.enter(ctx, r, abi.ExportDescribe); err != nil {
		return nil, err
	}
	if !r.replied {
		return nil, &LoadError{Stage: "manifest", Err: &ContractError{
			Detail: abi.ExportDescribe + " pushed no manifest", NoReply: true}}
	}
	return r.reply, nil
}

// readManifest decodes what describe pushed and holds it against the copy in the file, which may
// have been read, and believed, without running the plugin.
func readManifest(raw, wasm []byte) (abi.Manifest, error) {
	manifest, err := abihost.ParseManifest(raw)
	if err != nil {
		return abi.Manifest{}, err
	}
	stamped, ok, err := abihost.Section(wasm)
	if err != nil {
		return abi.Manifest{}, err
	}
	if ok && !bytes.Equal(stamped, raw) {
		return abi.Manifest{}, fmt.Errorf(
			"the plugin describes itself otherwise than its section %s does: stamp it again",
			abi.ManifestSection)
	}
	return manifest, nil
}
