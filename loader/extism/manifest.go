package extism

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
)

// MaxModules is how many modules a manifest may name.
const MaxModules = 16

// manifest is what an Extism manifest says. All of it is the plugin's own word: it asks, lowers the
// policy's limits, and gives defaults.
type manifest struct {
	Wasm         []linked          `json:"wasm"`
	Memory       *manifestMemory   `json:"memory,omitempty"`
	Config       map[string]string `json:"config,omitempty"`
	AllowedHosts []string          `json:"allowed_hosts,omitempty"`
	AllowedPaths map[string]string `json:"allowed_paths,omitempty"` // of the guest, by the host's
	TimeoutMS    uint64            `json:"timeout_ms,omitempty"`
}

// linked is one module of a manifest. In a bundle, those that are linked to the main one have Data,
// and the main one, which the bundle is made of, has nothing but its name.
type linked struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	Hash string `json:"hash,omitempty"` // sha256, in hexadecimal
}

// manifestMemory are a manifest's limits, in pages of 64 KiB and bytes.
type manifestMemory struct {
	MaxPages             uint32 `json:"max_pages,omitempty"`
	MaxHTTPResponseBytes *int64 `json:"max_http_response_bytes,omitempty"`
	MaxVarBytes          *int64 `json:"max_var_bytes,omitempty"`
}

// sectionName is that of the custom section by which a bundle carries its manifest.
const sectionName = "extism.manifest"

// Bundle implements loader.Bundler: it gives the main module, with the manifest and the modules
// that are linked to it in a custom section.
func (k *kind) Bundle(text []byte, read func(name string) ([]byte, error)) ([]byte, error) {
	m, err := readManifest(text)
	if err != nil {
		return nil, fmt.Errorf("an Extism manifest that cannot be read: %w", err)
	}
	if err := m.checkCount(); err != nil {
		return nil, err
	}
	at := m.main()
	var main []byte
	for i := range m.Wasm {
		w := &m.Wasm[i]
		code, err := w.load(read)
		if err != nil {
			return nil, fmt.Errorf("wasm[%d]: %w", i, err)
		}
		if *w = (linked{Name: w.Name, Data: code}); i == at {
			w.Data, main = nil, code
		}
	}
	if !bytes.HasPrefix(main, []byte("\x00asm")) {
		return nil, fmt.Errorf("wasm[%d]: not a WebAssembly module", at)
	}
	said, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	payload := append(appendSize(nil, len(sectionName)), sectionName...)
	payload = append(payload, said...)
	bundle := append(slices.Clip(main), 0) // a custom section
	return append(appendSize(bundle, len(payload)), payload...), nil
}

// main is the module that is called: the one of that name, else the last.
func (m *manifest) main() int {
	i := slices.IndexFunc(m.Wasm, func(w linked) bool { return w.Name == "main" })
	if i < 0 {
		i = len(m.Wasm) - 1
	}
	return i
}

// load gets a module's bytes.
func (w *linked) load(read func(name string) ([]byte, error)) (code []byte, err error) {
	switch {
	case w.URL != "":
		return nil, errors.New("it is to come from a URL, and nothing is fetched while loading: " +
			"download it, put it beside the manifest, and write its path instead")
	case (w.Path == "") == (len(w.Data) == 0):
		return nil, errors.New("want one of path and data")
	case w.Path != "":
		code, err = read(strings.TrimPrefix(w.Path, "./"))
	default:
		code = w.Data
	}
	if err != nil || w.Hash == "" {
		return code, err
	}
	if sum := sha256.Sum256(code); !strings.EqualFold(w.Hash, hex.EncodeToString(sum[:])) {
		return nil, fmt.Errorf("the module's sha256 is %x, and the manifest wants %s", sum,
			abi.CleanText(w.Hash, 80))
	}
	return code, nil
}

// appendSize appends a length as WebAssembly codes it.
func appendSize(dst []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// manifestOf gives the manifest that a bundle carries; nil: the module is of none.
func manifestOf(wasm []byte) (*manifest, error) {
	payload, ok := section(wasm)
	if !ok {
		return nil, nil
	}
	m, err := readManifest(payload)
	if err != nil {
		return nil, fmt.Errorf("its section %s: %w", sectionName, err)
	}
	if err := m.checkCount(); err != nil {
		return nil, fmt.Errorf("its section %s: %w", sectionName, err)
	}
	return m, nil
}

func (m *manifest) checkCount() error {
	if n := len(m.Wasm); n == 0 || n > MaxModules {
		return fmt.Errorf("an Extism manifest names 1 to %d modules (wasm), and this %d", MaxModules, n)
	}
	return nil
}

// section finds the custom section of a module whose structure was checked: the last one, since that
// is a bundle's own, whatever its main module came with.
func section(wasm []byte) (payload []byte, found bool) {
	const header = 8 // bytes, magic and version
	for rest, ok := wasm[min(header, len(wasm)):], true; len(rest) > 0; {
		id, body := rest[0], rest[1:]
		if body, rest, ok = cut(body); !ok {
			return nil, false
		}
		if id != 0 {
			continue
		}
		if name, said, ok := cut(body); ok && string(name) == sectionName {
			payload, found = said, true
		}
	}
	return payload, found
}

// cut takes bytes off that their length comes before.
func cut(b []byte) (taken, rest []byte, ok bool) {
	n, shift := uint64(0), 0
	for i, c := range b {
		if shift > 28 {
			break
		}
		n |= uint64(c&0x7f) << shift
		shift += 7
		if c < 0x80 {
			b = b[i+1:]
			if n > uint64(len(b)) {
				break
			}
			return b[:n], b[n:], true
		}
	}
	return nil, nil, false
}

// What of a manifest can be put as a need; anything else is for the operator to choose.
var (
	hostName = regexp.MustCompile(`^(\*\.)?[\pL\pN_-]+(\.[\pL\pN_-]+)*$`)
	keyName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)
)

// needs is what the manifest wishes for. The host's paths in it count for nothing.
func (m *manifest) needs() (n abi.Needs) {
	if m == nil {
		return n
	}
	n.HTTP = hostNeeds(m.AllowedHosts)
	guests := map[string]string{} // modes
	for place, guest := range m.AllowedPaths {
		mode := "rw"
		if strings.HasPrefix(place, "ro:") && guests[guest] != mode {
			mode = "ro"
		}
		guests[guest] = mode
	}
	for _, guest := range slices.Sorted(maps.Keys(guests)) {
		n.Files = append(n.Files, abi.FileNeed{Guest: guest, Mode: guests[guest]})
	}
	for _, key := range slices.Sorted(maps.Keys(m.Config)) {
		if value := m.Config[key]; value != "" && keyName.MatchString(key) {
			n.Config = append(n.Config, abi.ValueNeed{Name: key, Default: value})
		}
	}
	return n
}

// hostNeeds puts each host once. Patterns that a need cannot have are one together.
func hostNeeds(patterns []string) (needs []abi.HTTPNeed) {
	var odd []string
	seen := map[string]bool{}
	for _, pattern := range slices.Sorted(slices.Values(patterns)) {
		switch name := strings.ToLower(pattern); {
		case seen[name]:
			continue
		case hostName.MatchString(name):
			needs = append(needs, abi.HTTPNeed{Host: name})
			seen[name] = true
		default:
			odd = append(odd, pattern)
			seen[name] = true
		}
	}
	if len(odd) > 0 {
		needs = append(needs, abi.HTTPNeed{Host: abi.AnyHost,
			Reason: abi.CleanText("the manifest wishes for "+strings.Join(odd, ", "), maxReason)})
	}
	return needs
}

// maxReason is how much of the odd patterns is told, in characters.
const maxReason = 200

// checkedNeeds are the needs as any plugin's word is taken, or what is wrong with them in the
// manifest's own terms.
func (m *manifest) checkedNeeds() (abi.Needs, error) {
	word := abi.Manifest{Name: "manifest", ABI: abi.Version, Needs: m.needs(),
		Tools: []abi.ToolSpec{{Name: "tool"}}}
	word, err := abihost.ParseManifest(abi.AppendManifest(nil, &word))
	if field, ok := errors.AsType[*abihost.FieldError](err); ok {
		for ours, theirs := range map[string]string{"needs.http": "allowed_hosts",
			"needs.files": "allowed_paths", "needs.config": "config"} {
			if strings.HasPrefix(field.Path, ours) {
				return abi.Needs{}, fmt.Errorf("%s in its manifest: %s", theirs, field.Detail)
			}
		}
	}
	return word.Needs, err
}

// readManifest reads a manifest's text.
func readManifest(text []byte) (*manifest, error) {
	m := &manifest{}
	err := json.Unmarshal(text, m)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		want := "a number"
		switch e.Type.Kind() {
		case reflect.String:
			want = "a text"
		case reflect.Slice:
			want = "a list"
			if e.Type.Elem().Kind() == reflect.Uint8 {
				want = "base64"
			}
		case reflect.Struct, reflect.Map:
			want = "an object"
		}
		return nil, fmt.Errorf("%s: want %s, have %s", cmp.Or(e.Field, "the whole"), want, e.Value)
	}
	return m, err
}

// lower puts the manifest's limits under a policy's, and its settings where that has none.
func (m *manifest) lower(p *host.Policy) {
	l := &p.Limits
	if m.TimeoutMS > 0 {
		own := time.Duration(min(m.TimeoutMS, 1<<40)) * time.Millisecond
		l.Time = min(cmp.Or(l.Time, host.DefaultTime), own)
	}
	if m.Memory != nil && m.Memory.MaxPages > 0 {
		const page = 64 << 10
		l.Memory = min(cmp.Or(l.Memory, host.DefaultMemory), int64(m.Memory.MaxPages)*page)
	}
	config := map[string]abi.Raw{}
	for key, value := range m.Config {
		config[key] = abi.AppendString(nil, value)
	}
	maps.Copy(config, p.Config)
	p.Config = config
}

// maxResponse is how many bytes the body of a response may have.
func (m *manifest) maxResponse() int64 {
	if m == nil || m.Memory == nil || m.Memory.MaxHTTPResponseBytes == nil {
		return math.MaxInt64 // as the policy says
	}
	return *m.Memory.MaxHTTPResponseBytes
}

// maxVarBytes is how much the variables of a call may have.
func (m *manifest) maxVarBytes() int {
	if m == nil || m.Memory == nil || m.Memory.MaxVarBytes == nil {
		return MaxVariables
	}
	return int(min(max(*m.Memory.MaxVarBytes, 0), MaxVariables))
}
