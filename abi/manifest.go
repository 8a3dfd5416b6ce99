package abi

// AppendManifest appends m's msgpack form; equal manifests give equal bytes. Needs that are not
// there are left out, and so is an empty output schema.
func AppendManifest(dst []byte, m *Manifest) []byte {
	f := openFields(dst)
	f.str("name", m.Name)
	f.str("version", m.Version)
	f.int("abi", int64(m.ABI))
	f.key("tools")
	f.dst = appendList(f.dst, m.Tools, appendTool)
	f.key("needs")
	f.dst = appendNeeds(f.dst, &m.Needs)
	return f.dst
}

func appendTool(dst []byte, t *ToolSpec) []byte {
	f := openFields(dst)
	f.str("name", t.Name)
	f.str("description", t.Description)
	f.str("input", t.InputSchema)
	f.optStr("output", t.OutputSchema)
	f.str("effect", t.Effect.String())
	return f.dst
}

func appendNeeds(dst []byte, n *Needs) []byte {
	f := openFields(dst)
	optList(&f, "http", n.HTTP, appendHTTPNeed)
	if n.KV != nil {
		f.key("kv")
		kv := openFields(f.dst)
		kv.optTrue("optional", n.KV.Optional)
		f.dst = kv.dst
	}
	optList(&f, "files", n.Files, appendFileNeed)
	optList(&f, "env", n.Env, appendValueNeed)
	optList(&f, "config", n.Config, appendValueNeed)
	optList(&f, "secrets", n.Secrets, appendValueNeed)
	return f.dst
}

func appendHTTPNeed(dst []byte, n *HTTPNeed) []byte {
	f := openFields(dst)
	f.str("host", n.Host)
	f.optStrings("methods", n.Methods)
	f.optStr("reason", n.Reason)
	f.optTrue("optional", n.Optional)
	return f.dst
}

func appendFileNeed(dst []byte, n *FileNeed) []byte {
	f := openFields(dst)
	f.str("guest", n.Guest)
	f.str("mode", n.Mode)
	f.optTrue("optional", n.Optional)
	return f.dst
}

func appendValueNeed(dst []byte, n *ValueNeed) []byte {
	f := openFields(dst)
	f.str("name", n.Name)
	f.optStr("default", n.Default)
	f.optStr("description", n.Description)
	return f.dst
}

func appendList[T any](dst []byte, list []T, one func([]byte, *T) []byte) []byte {
	dst = AppendArrayHeader(dst, len(list))
	for i := range list {
		dst = one(dst, &list[i])
	}
	return dst
}

func optList[T any](f *fields, key string, list []T, one func([]byte, *T) []byte) {
	if len(list) > 0 {
		f.key(key)
		f.dst = appendList(f.dst, list, one)
	}
}

// AppendProgress appends p's msgpack form, without a total or a message that is zero.
func AppendProgress(dst []byte, p *Progress) []byte {
	f := openFields(dst)
	f.key("done")
	f.dst = AppendFloat64(f.dst, p.Done)
	if p.Total != 0 {
		f.key("total")
		f.dst = AppendFloat64(f.dst, p.Total)
	}
	f.optStr("message", p.Message)
	return f.dst
}

var effectWords = [...]string{"write", "read", "idempotent"}

// ParseEffect gives the effect of a wire word; "" is write.
func ParseEffect(word string) (Effect, bool) {
	if word == "" {
		return EffectWrite, true
	}
	for i, w := range effectWords {
		if w == word {
			return Effect(i), true
		}
	}
	return EffectWrite, false
}

// String gives the wire word: write, read or idempotent.
func (e Effect) String() string {
	if int(e) < len(effectWords) {
		return effectWords[e]
	}
	return "unknown"
}
