//go:build wasmtime

package main

import (
	"context"

	"github.com/bytecodealliance/wasmtime-go/v37"

	"github.com/wasmagent/wasmagent/abi"
)

func init() { makers = append(makers, newWasmtime) }

// wasmtimeFresh makes an instance for each call. Its memory is mapped copy-on-write from the
// module's image, wasmtime's default; the pooling allocator is not in the Go binding.
type wasmtimeFresh struct {
	engine  *wasmtime.Engine
	module  *wasmtime.Module
	linker  *wasmtime.Linker
	request []byte
	reply   []byte
}

func newWasmtime(_ context.Context, a *arena) (contender, error) {
	engine := wasmtime.NewEngine()
	module, err := wasmtime.NewModule(engine, a.own)
	if err != nil {
		return nil, err
	}
	c := &wasmtimeFresh{engine: engine, module: module, linker: wasmtime.NewLinker(engine)}
	return c, c.link()
}

func (c *wasmtimeFresh) link() error {
	if err := c.linker.DefineWasi(); err != nil {
		return err
	}
	memory := func(caller *wasmtime.Caller) []byte {
		return caller.GetExport(abi.ExportMemory).Memory().UnsafeData(caller)
	}
	for name, f := range map[string]any{
		"input": func(caller *wasmtime.Caller, ptr, room int32) int32 {
			if len(c.request) <= int(uint32(room)) {
				copy(memory(caller)[uint32(ptr):], c.request)
			}
			return int32(len(c.request))
		},
		"output": func(caller *wasmtime.Caller, ptr, size int32) {
			from := uint32(ptr)
			c.reply = append(c.reply[:0], memory(caller)[from:from+uint32(size)]...)
		},
		"log":       func(int32, int32, int32) {},
		"progress":  func(int32, int32) {},
		"cancelled": func() int32 { return 0 },
		"config":    func(int32, int32) int32 { return 0 },
		"result":    func(int32, int32) int32 { return 0 },
	} {
		if err := c.linker.FuncWrap(abi.ImportModule, name, f); err != nil {
			return err
		}
	}
	return nil
}

func (c *wasmtimeFresh) Name() string { return nameWasmtime }

func (c *wasmtimeFresh) Call(p *payload) ([]byte, error) {
	c.request = p.request
	store := wasmtime.NewStore(c.engine)
	defer store.Close()
	store.SetWasi(wasmtime.NewWasiConfig())
	in, err := c.linker.Instantiate(store, c.module)
	if err != nil {
		return nil, err
	}
	if start := in.GetFunc(store, abi.ExportInitialize); start != nil {
		if _, err := start.Call(store); err != nil {
			return nil, err
		}
	}
	_, err = in.GetFunc(store, abi.ExportCall).Call(store)
	return c.reply, err
}

func (c *wasmtimeFresh) Close() error {
	c.linker.Close()
	c.module.Close()
	c.engine.Close()
	return nil
}
