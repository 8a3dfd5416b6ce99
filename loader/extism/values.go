package extism

import (
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
)

// Limits of variables, in bytes of names and values.
const (
	MaxVariables = 1 << 20 // all of a call
	maxName      = 1 << 10 // a name's
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
	if len(b) > maxName {
		c.broken("a name of %d bytes, more than %d", len(b), maxName)
	}
	return string(b)
}

// varGet gives a variable: of the call, or the plugin's own where the policy grants kv.
func (c *call) varGet() {
	name := c.name(c.stack[0])
	c.mem.release(c.stack[0])
	c.stack[0] = 0
	value, ok := c.vars[name]
	if !ok {
		a, err := c.KV(&abi.KVRequest{Op: abi.KVGet, Key: name})
		if refused(err) {
			c.Fail(failed("var_get", err))
		}
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
	value := append([]byte(nil), c.text(at)...)
	c.mem.release(c.stack[0])
	c.mem.release(at)
	q := &abi.KVRequest{Op: abi.KVSet, Key: name, Value: abi.AppendBin(nil, value)}
	if at == 0 {
		q.Op = abi.KVDelete
	}
	_, err := c.KV(q)
	switch {
	case err == nil:
	case refused(err):
		c.Fail(failed("var_set", err))
	default:
		c.keepVar(name, value, at == 0)
	}
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
	if c.varBytes += len(name) + len(value); c.varBytes > MaxVariables {
		c.Fail(&abi.Failure{Message: "its variables have more than 1 MiB", Permanent: true})
	}
	if c.vars == nil {
		c.vars = map[string][]byte{}
	}
	c.vars[name] = value
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
