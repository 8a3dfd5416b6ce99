package host

import (
	"context"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// Prices of a host call, in units of fuel. What guest code costs is rewrite's to say.
const (
	hostCallFuel  = 100
	bytesPerFuel  = 16        // bytes that a host function moves for one unit
	fuelSlice     = 5_000_000 // units between two looks at the clock: at most some 5 ms of work
	maxFuelCharge = 1 << 62   // of one host call, so that no sum overflows
)

// turnTime is how long a guest runs, in its own time, before it lets others go first.
const turnTime = time.Millisecond

// tick is what a guest's own code calls when its fuel is used up: the one place where running code
// is interrupted, and where the scheduler and the garbage collector get hold of its thread.
var tick = api.GoModuleFunc(func(ctx context.Context, _ api.Module, _ []uint64) {
	instanceOf(ctx).refuel()
})

// refuel grants slices of fuel until there is some again, or ends the guest.
func (in *instance) refuel() {
	r := &in.run
	left := int64(in.fuel.Get())
	for left < 0 {
		more := int64(fuelSlice)
		if most := in.module.limits.Fuel; most > 0 {
			if more = min(more, most-r.granted); more <= 0 {
				panic(&LimitError{Limit: "fuel", Max: most})
			}
		}
		in.look()
		in.yield()
		r.granted += more
		left += more
	}
	in.fuel.Set(uint64(left))
}

// yield lets others run: those that wait for a turn, or any goroutine. Go's guests use up their
// fuel far faster than others, being charged for whole functions, so it first looks how long ago
// the last one was.
func (in *instance) yield() {
	r := &in.run
	if time.Since(r.yielded) < turnTime {
		return
	}
	if in.module.engine.turns.wanted() {
		in.giveTurn()
		in.takeAgain()
	} else {
		runtime.Gosched()
	}
	r.yielded = time.Now()
}

// startFuel gives a run its first slice.
func (in *instance) startFuel() {
	in.run.granted = fuelSlice
	if most := in.module.limits.Fuel; most > 0 {
		in.run.granted = min(in.run.granted, most)
	}
	in.fuel.Set(uint64(in.run.granted))
}

// fuelUsed is what the run has used so far.
func (in *instance) fuelUsed() int64 { return in.run.granted - int64(in.fuel.Get()) }

// charge takes fuel for a host function that moves bytes.
func (in *instance) charge(bytes uint64) {
	cost := min(hostCallFuel+bytes/bytesPerFuel, maxFuelCharge)
	left := int64(in.fuel.Get()) - int64(cost)
	in.fuel.Set(uint64(left))
	if left < 0 {
		in.refuel()
	}
}
