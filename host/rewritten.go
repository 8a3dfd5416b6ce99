package host

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/wasmagent/wasmagent/host/internal/rewrite"
)

// rewritten is a module as it is compiled, and what to do with it: what rewrite makes of it, in a
// form that is quick to keep and to read.
type rewritten struct {
	Facts rewrite.Facts // of the module that it was made of, without Custom
	Wasm  []byte
	Plan  rewrite.Plan // without Data

	Offsets, Sizes []uint32 // of the data segments: a Go guest has tens of thousands
	Bytes          []byte   // of all of them
}

func newRewritten(wasm []byte, facts *rewrite.Facts) (*rewritten, error) {
	out, plan, err := rewrite.Rewrite(wasm, facts, nil)
	if err != nil {
		return nil, err
	}
	r := &rewritten{Facts: *facts, Wasm: out, Plan: plan}
	r.Facts.Custom = nil // views of the whole module, as Data's are
	for _, d := range plan.Data {
		r.Offsets = append(r.Offsets, d.Offset)
		r.Sizes = append(r.Sizes, uint32(len(d.Bytes)))
		r.Bytes = append(r.Bytes, d.Bytes...)
	}
	r.Plan.Data = nil
	return r, nil
}

// plan is the plan with its data.
func (r *rewritten) plan() rewrite.Plan {
	plan, rest := r.Plan, r.Bytes
	plan.Data = make([]rewrite.Data, len(r.Offsets))
	for i, size := range r.Sizes {
		plan.Data[i] = rewrite.Data{Offset: r.Offsets[i], Bytes: rest[:size:size]}
		rest = rest[size:]
	}
	return plan
}

func (r *rewritten) encode() ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(r)
	return b.Bytes(), err
}

// decodeRewritten reads what encode wrote, and was authenticated since.
func decodeRewritten(b []byte) (*rewritten, error) {
	r := new(rewritten)
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(r); err != nil {
		return nil, fmt.Errorf("cache entry: %w", err)
	}
	return r, nil
}
