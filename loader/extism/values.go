package extism

import (
	"bytes"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
)

// Limits of variables that live as long as a call, and of names.
const (
	MaxVariables = 1 << 20 // bytes of names and values
	MaxVarCount  = 1 << 12
	MaxName      = 1 << 10 // bytes, of a setting's too
)

// configGet gives a setting of the policy's: a text as it is, anything else as JSON.
func (c *call) configGet() {
	key := c.name(c.stack[0])
	c.stack[0] = 0
	raw, ok := c.Config(key)
	if !ok {
		return
	}
	value, err := configText(raw)
	if err != nil {
		c.Fail(&abi.Failure{Message: "config " + key + " has no form for Extism", Permanent: true})
	}
	c.stack[0] = c.put(value)
}

func configText(raw abi.Raw) ([]byte, error) {
	if text, err := abi.NewReader(raw).StrBytes(); err == nil {
		return text, nil
	}
	return transcode.AppendJSON(nil, raw)
}

// name is a text that names something.
func (c *call) name(offset uint64) string {
	b := c.text(offset)
	if len(b) > MaxName {
		c.End(broken("a name of %d bytes, more than %d", len(b), MaxName))
	}
	return string(b)
}

// varGet gives a variable: of the call, or the plugin's own where the policy grants kv.
func (c *call) varGet() {
	name := c.name(c.stack[0])
	c.mem.release(c.stack[0])
	c.stack[0] = 0
	a, err := c.KV(&abi.KVRequest{Op: abi.KVGet, Key: name})
	if refused(err) {
		c.Fail(failed("var_get", err))
	}
	value, ok := c.vars[name] // which loading may have set, too: what a call has kept counts first
	if err == nil && a.Value != nil || !ok {
		value, _ = abi.NewReader(a.Value).Bin() // anything else was not written here
	}
	if len(value) > 0 {
		c.stack[0] = c.put(value)
	}
}

// refused tells a key-value space that does not work from one that was not granted.
func refused(err error) bool {
	e := host.CallErrorOf(err)
	return err != nil && (e == nil || e.Kind != abi.Denied && e.Kind != abi.NotNow)
}

func (c *call) varSet() {
	name, at := c.name(c.stack[0]), c.stack[1]
	value := c.text(at)
	if len(value) > host.MaxKVValue {
		c.Fail(tooLarge("var_set: a value of %d bytes, more than %d", len(value), host.MaxKVValue))
	}
	q := &abi.KVRequest{Op: abi.KVSet, Key: name, Value: abi.AppendBin(nil, value)}
	if at == 0 {
		q.Op = abi.KVDelete
	}
	_, err := c.KV(q)
	switch {
	case err == nil:
		c.keepVar(name, nil, true) // what loading set is over
	case refused(err):
		c.Fail(failed("var_set", err))
	default:
		c.keepVar(name, value, at == 0)
	}
	c.mem.release(c.stack[0])
	c.mem.release(at)
}

// keepVar keeps a variable until the call ends.
func (c *call) keepVar(name string, value []byte, remove bool) {
	if old, ok := c.vars[name]; ok {
		c.varBytes -= len(name) + len(old)
		delete(c.vars, name)
	}
	if remove {
		return
	}
	c.varBytes += len(name) + len(value)
	switch {
	case c.varBytes > c.maxVarBytes:
		c.Fail(tooLarge("var_set: all variables have %d bytes, more than %d", c.varBytes,
			c.maxVarBytes))
	case len(c.vars) >= MaxVarCount:
		c.Fail(tooLarge("var_set: more than %d variables", MaxVarCount))
	}
	if c.vars == nil {
		c.vars = map[string][]byte{}
	}
	c.vars[name] = bytes.Clone(value)
}

// tooLarge is a failure of a guest that wants more than there is for anybody.
func tooLarge(format string, args ...any) error {
	return &abi.Failure{Code: string(abi.TooLarge), Message: fmt.Sprintf(format, args...),
		Permanent: true}
}

// failed is a failure that Extism has no way to tell the guest of.
func failed(what string, err error) error {
	f := &abi.Failure{Message: what + ": " + err.Error()}
	if e := host.CallErrorOf(err); e != nil {
		f.Code, f.Message = string(e.Kind), what+": "+e.Message
		f.Permanent = e.Kind == abi.Denied || e.Kind == abi.Invalid || e.Kind == abi.TooLarge
	}
	return f
}
