package main

import (
	"context"
	"errors"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// extismPlugin is extism's SDK as its documentation uses it: no timeout unless one asks for it, and
// therefore nothing that could stop a call.
type extismPlugin struct {
	ctx      context.Context
	compiled *extism.CompiledPlugin
}

func newExtism(ctx context.Context, a *arena) (*extismPlugin, error) {
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: a.extism}}}
	compiled, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{
		EnableWasi:    a.guest == goGuest,
		RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(a.code),
	}, nil)
	return &extismPlugin{ctx, compiled}, err
}

func (c *extismPlugin) instance() (*extism.Plugin, error) {
	return c.compiled.Instance(c.ctx, extism.PluginInstanceConfig{
		ModuleConfig: wazero.NewModuleConfig().WithSysWalltime().WithSysNanotime()})
}

// call hands the guest JSON, as its kits do.
func (c *extismPlugin) call(in *extism.Plugin, p *payload) ([]byte, error) {
	_, reply, err := in.CallWithContext(c.ctx, p.tool, p.json)
	return reply, err
}

func (c *extismPlugin) Close() error { return c.compiled.Close(context.Background()) }

type extismWarm struct {
	*extismPlugin
	in *extism.Plugin
}

func newExtismWarm(ctx context.Context, a *arena) (contender, error) {
	c, err := newExtism(ctx, a)
	if err != nil {
		return nil, err
	}
	in, err := c.instance()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &extismWarm{c, in}, nil
}

func (c *extismWarm) Name() string                    { return nameExtismWarm }
func (c *extismWarm) Call(p *payload) ([]byte, error) { return c.call(c.in, p) }

type extismFresh struct{ *extismPlugin }

func newExtismFresh(ctx context.Context, a *arena) (contender, error) {
	c, err := newExtism(ctx, a)
	if err != nil {
		return nil, err
	}
	return &extismFresh{c}, nil
}

func (c *extismFresh) Name() string { return nameExtismFresh }

func (c *extismFresh) Call(p *payload) ([]byte, error) {
	in, err := c.instance()
	if err != nil {
		return nil, err
	}
	reply, err := c.call(in, p)
	return reply, errors.Join(err, in.Close(c.ctx))
}
