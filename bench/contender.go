package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"
)

// contender is a way to have a tool called. It is used by one goroutine at a time.
type contender interface {
	Name() string
	Call(p *payload) (reply []byte, err error) // the reply is valid until the next Call
	Close() error
}

// processes is a contender that works in processes which outlive a call.
type processes interface{ PIDs() []int }

// The contenders' names in tables and gates.
const (
	nameBytes       = "wasmagent, bytes"
	nameJSON        = "wasmagent, JSON in and out"
	nameWarm        = "wazero warm, no isolation"
	nameStoppable   = "the same, WithCloseOnContextDone"
	nameInstantiate = "wazero InstantiateModule"
	nameOursExtism  = "wasmagent, Extism plugin"
	nameOursSDK     = "the same, engine extism-sdk"
	nameExtismWarm  = "extism warm, no isolation"
	nameExtismFresh = "extism, new instance"
	nameWasmtime    = "wasmtime, new instance"
	nameGRPC        = "go-plugin gRPC (native)"
	nameSubprocess  = "subprocess (native)"
	nameNative      = "Go function, encoding/json"
)

// arena is what contenders are made from: one guest, and what they may share.
type arena struct {
	guest  string
	own    []byte // the guest for wasmagent and bare engines
	extism []byte
	dir    string // temporary, for files
	code   wazero.CompilationCache
}

func newArena(guest string) (_ *arena, err error) {
	a := &arena{guest: guest, code: wazero.NewCompilationCache()}
	if a.own, a.extism, err = guestBytes(guest); err != nil {
		return nil, err
	}
	a.dir, err = os.MkdirTemp("", "wasmagent-bench-")
	return a, err
}

func (a *arena) Close() error {
	return errors.Join(a.code.Close(context.Background()), os.RemoveAll(a.dir))
}

// makers make the contenders in the order of the tables. Those behind build tags add themselves.
var makers = []func(context.Context, *arena) (contender, error){
	newBytes, newJSON, newWarm, newStoppable, newInstantiate, newOursExtism, newOursSDK,
	newExtismWarm, newExtismFresh, newGRPC, newSubprocess, newNative,
}

func (a *arena) contenders(ctx context.Context) (list []contender, err error) {
	for _, make := range makers {
		c, err := make(ctx, a)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", a.guest, err), closeAll(list))
		}
		list = append(list, c)
	}
	return list, nil
}

func closeAll(list []contender) error {
	var errs []error
	for _, c := range list {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
