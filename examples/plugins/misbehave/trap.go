package main

import (
	"os"
	"unsafe"

	"github.com/wasmagent/wasmagent/pdk"
)

// registerTraps adds the tools that do not live to reply, or do not survive it.
func registerTraps() {
	add("panic", "Panic. Go says why on stderr and traps.", func(*pdk.Call, none) (none, error) {
		panic("this plugin has a defect")
	})
	add("deadlock", "Wait for what nobody sends. Go says so on stderr and gives up.",
		func(*pdk.Call, none) (none, error) {
			<-make(chan none)
			return none{}, nil
		})
	add("trap", "Read far outside the plugin's memory.", func(*pdk.Call, none) (byte, error) {
		return outOfBounds(), nil
	})
	add("divide_by_zero", "Divide by zero in WebAssembly itself, where Go does not look.",
		func(*pdk.Call, none) (int64, error) { return divide(1, 0), nil })
	add("exit", "Exit in the middle of the call, with no reply.",
		func(_ *pdk.Call, in exitInput) (none, error) {
			os.Exit(in.Code)
			return none{}, nil
		})
	add("reply_then_trap", "Reply, and then trap: the reply must not count.",
		func(*pdk.Call, none) (byte, error) {
			output(okReply)
			return outOfBounds(), nil
		})
	add("reply_then_exit", "Reply, and then exit with 3: the reply must not count.",
		func(*pdk.Call, none) (none, error) {
			output(okReply)
			os.Exit(3)
			return none{}, nil
		})
}

type exitInput struct {
	Code int `json:"code" doc:"The exit code. 0 makes it no better." min:"0" max:"125" default:"3"`
}

// beyond is an address that no memory under 4 GiB less 64 KiB reaches.
var beyond uintptr = 0xffff_0000

func outOfBounds() byte {
	return *(*byte)(unsafe.Add(unsafe.Pointer(nil), beyond))
}
