package host

import (
	"bytes"
	"context"
	"errors"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
)

// load takes a first instance through the stages, so that what cannot work is refused here and not
// in a call, learns the manifest, and keeps what all calls begin with.
func (m *Module) load(ctx context.Context, wasm []byte) (err error) {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.end()
	in, raw, err := m.describe(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	if m.manifest, err = readManifest(raw, wasm); err != nil {
		return &LoadError{Stage: "manifest", Err: err}
	}
	if missing := m.policy.missing(m.code.facts, &m.manifest.Needs); len(missing) > 0 {
		return &LoadError{Stage: "grants", Err: &GrantError{Missing: missing}}
	}
	if err = in.load(ctx, stageWarmup, nil, abi.ExportWarmup); err != nil {
		return err
	}
	if m.policy.Isolation == Instantiate || len(m.code.blockers) > 0 {
		in.close()
		return nil
	}
	return m.photograph(in)
}

// describeOnce takes a first instance as far as its manifest, which is checked and given as it is.
func (m *Module) describeOnce(ctx context.Context) ([]byte, error) {
	if err := m.begin(); err != nil {
		return nil, err
	}
	defer m.end()
	in, raw, err := m.describe(ctx)
	if err != nil {
		return nil, err
	}
	in.close()
	if _, err := abihost.ParseManifest(raw); err != nil {
		return nil, &LoadError{Stage: "manifest", Err: err}
	}
	return raw, nil
}

// describe makes a first instance and lets it push its manifest.
func (m *Module) describe(ctx context.Context) (*instance, []byte, error) {
	in, err := m.newInstance(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	in.begin(ctx, stageDescribe, nil)
	in.run.maxReply = abi.MaxManifestBytes
	err = in.enter(in.mod.ExportedFunction(abi.ExportDescribe))
	if err == nil && !in.run.replied {
		err = &LoadError{Stage: "manifest", Err: &ContractError{
			Detail: abi.ExportDescribe + " pushed no manifest", NoReply: true}}
	}
	if err != nil {
		in.close()
		return nil, nil, err
	}
	return in, in.run.reply, nil
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
		return abi.Manifest{}, errors.New("the plugin describes itself otherwise than its section " +
			abi.ManifestSection + " does: stamp it again")
	}
	return manifest, nil
}
