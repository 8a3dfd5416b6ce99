package extism

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

// FuzzManifest makes bundles of any manifest and module, and reads them: what a bundle says is what
// the manifest said, and bytes that are no bundle do no harm.
func FuzzManifest(f *testing.F) {
	empty := "\x00asm\x01\x00\x00\x00"
	f.Add(`{"wasm":[{"path":"x"}],"config":{"a":"b"}}`, []byte(empty))
	f.Add(`{"wasm":[{"path":"x"},{"data":"`+base64.StdEncoding.EncodeToString([]byte(empty))+`"}]}`,
		[]byte(empty+"\x00\x03\x01aa"))
	f.Add(`{"wasm":[{"path":"x"}]}`, []byte(empty+"\x00\xff\xff\xff\xff\x0f"))
	f.Add(`{"wasm":[{"path":"x"}]}`, []byte(empty+"\x00\x11\x0fextism.manifest{"))
	f.Add(`{"wasm":[{"path":"x"}]}`, []byte(empty+"\x00"))
	f.Fuzz(func(t *testing.T, text string, wasm []byte) {
		_, _ = manifestOf(wasm)
		read := func(string) ([]byte, error) { return []byte(empty), nil }
		bundle, err := (&kind{}).Bundle([]byte(text), read)
		if err != nil {
			return
		}
		said, err := manifestOf(bundle)
		var asked manifest
		if err != nil || said == nil || json.Unmarshal([]byte(text), &asked) != nil {
			t.Fatalf("a bundle of %q says %v (%v)", text, said, err)
		}
		if len(said.Wasm) != len(asked.Wasm) || len(said.Config) != len(asked.Config) ||
			said.TimeoutMS != asked.TimeoutMS {
			t.Errorf("a bundle of %q says %+v", text, said)
		}
	})
}
