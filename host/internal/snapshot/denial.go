package snapshot

import "fmt"

// Reason says which limit refused memory.
type Reason string

const (
	Declared Reason = "declared" // the module's own maximum
	Policy   Reason = "policy"   // the limit given to New
	Budget   Reason = "budget"   // Options.Charge
	System   Reason = "system"   // the operating system
)

// Denial is a size that a memory could not have.
type Denial struct {
	Reason Reason
	Asked  int64 // bytes in all, not the difference
	Max    int64 // bytes, for Declared and Policy
	Err    error // what the system said, for System
}

func (d *Denial) Error() string {
	switch d.Reason {
	case Declared:
		return fmt.Sprintf("snapshot: %d bytes of memory are above the module's own maximum of %d",
			d.Asked, d.Max)
	case Policy:
		return fmt.Sprintf("snapshot: %d bytes of memory are above the limit of %d", d.Asked, d.Max)
	case Budget:
		return fmt.Sprintf("snapshot: %d bytes of memory are more than the host's budget has left",
			d.Asked)
	}
	return fmt.Sprintf("snapshot: the system has no %d bytes of memory: %v", d.Asked, d.Err)
}

func (d *Denial) Unwrap() error { return d.Err }
