package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
	ours "github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// sdkVerb makes this program the process that runs extism's SDK for the engine extism-sdk.
const sdkVerb = "__extism_sdk"

// oursExtism is the way of a model's call to a plugin that is written for extism.
type oursExtism struct {
	jsonAPI
	name string
}

func newOursExtism(ctx context.Context, a *arena) (contender, error) {
	return openExtism(ctx, a, nameOursExtism, "native")
}

func newOursSDK(ctx context.Context, a *arena) (contender, error) {
	return openExtism(ctx, a, nameOursSDK, "extism-sdk")
}

func openExtism(ctx context.Context, a *arena, name, engine string) (contender, error) {
	file := filepath.Join(a.dir, engine+".wasm")
	if err := os.WriteFile(file, a.extism, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	d := loader.Decision{Kind: "extism", Engine: engine}
	for _, tool := range tools {
		d.Functions = append(d.Functions, loader.Function{Tool: abi.ToolSpec{Name: tool}})
	}
	dir, err := loader.OpenFile(ctx, file, &loader.Options{Policies: everybody{d},
		Kinds:    []loader.Kind{ours.New(&ours.Options{SDKCommand: []string{self, sdkVerb}})},
		CacheDir: filepath.Join(a.dir, "cache"), StateDir: filepath.Join(a.dir, "state")})
	if err != nil {
		return nil, err
	}
	c := &oursExtism{jsonAPI{ctx, dir, plugins.NewRegistry(nil)}, name}
	if err := c.registry.Add(dir.Tools()...); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return c, nil
}

// everybody has the same policy.
type everybody struct{ loader.Decision }

// Decide implements loader.Policies.
func (e everybody) Decide(*loader.Plugin) (loader.Decision, error) { return e.Decision, nil }

func (c *oursExtism) Name() string { return c.name }
