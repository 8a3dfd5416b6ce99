package host_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

func Example() {
	wasm := hosttest.Tiny("echo") // in earnest, the bytes of a file
	ctx := context.Background()

	engine, err := host.New(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)

	module, err := engine.Compile(ctx, wasm, host.Policy{Limits: host.Limits{Time: time.Second}})
	if err != nil {
		log.Fatal(err) // a *host.LoadError says in which stage
	}
	fmt.Println("tool:", module.Manifest().Tools[0].Name)

	request := abi.Request{Tool: "echo", Attempt: 1, Input: abi.AppendString(nil, "hello")}
	reply, stats, err := module.Call(ctx, request, nil, nil)
	if err != nil {
		log.Fatal(err) // a *host.TrapError, *host.LimitError, ... says what the guest did
	}
	fmt.Printf("reply: %q\n", reply)
	fmt.Println("memory:", stats.Memory)
	// Output:
	// tool: echo
	// reply: "\x81\xa2ok\xa5hello"
	// memory: 65536
}
