package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// bytesAPI calls the sandbox: coded arguments in, the guest's reply out.
type bytesAPI struct {
	ctx    context.Context
	engine *host.Engine
	module *host.Module
	reply  []byte
}

func newBytes(ctx context.Context, a *arena) (contender, error) {
	engine, err := host.New(ctx, nil)
	if err != nil {
		return nil, err
	}
	module, err := engine.Compile(ctx, a.own, host.Policy{})
	if err != nil {
		return nil, errors.Join(err, engine.Close(ctx))
	}
	return &bytesAPI{ctx: ctx, engine: engine, module: module}, nil
}

func (c *bytesAPI) Name() string { return nameBytes }

func (c *bytesAPI) Call(p *payload) (_ []byte, err error) {
	c.reply, _, err = c.module.Call(c.ctx, p.call, nil, c.reply[:0])
	return c.reply, err
}

func (c *bytesAPI) Close() error { return c.engine.Close(context.Background()) }

// jsonAPI is the way of a model's call: JSON arguments, checked, through registry and loader.
type jsonAPI struct {
	ctx      context.Context
	dir      *loader.Dir
	registry *plugins.Registry
}

func newJSON(ctx context.Context, a *arena) (contender, error) {
	file := filepath.Join(a.dir, "bench.wasm")
	if err := os.WriteFile(file, a.own, 0o600); err != nil {
		return nil, err
	}
	dir, err := loader.OpenFile(ctx, file, &loader.Options{
		CacheDir: filepath.Join(a.dir, "cache"), StateDir: filepath.Join(a.dir, "state")})
	if err != nil {
		return nil, err
	}
	c := &jsonAPI{ctx, dir, plugins.NewRegistry(nil)}
	if err := c.registry.Add(dir.Tools()...); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return c, nil
}

func (c *jsonAPI) Name() string { return nameJSON }

func (c *jsonAPI) Call(p *payload) ([]byte, error) {
	result, err := c.registry.Call(c.ctx, plugins.Call{ID: "bench", Tool: p.tool, Input: p.json})
	return result.Value, err
}

func (c *jsonAPI) Close() error { return c.dir.Close() }
