package rewrite

import (
	"crypto/sha256"
	"embed"
	"sync"
)

// sources are the files that this package is made of.
//
//go:embed check.go code.go doc.go error.go facts.go fingerprint.go instr.go limits.go meter.go
//go:embed names.go opcode.go price.go reader.go rewrite.go sections.go segments.go write.go
var sources embed.FS

// Fingerprint tells this version of the package from every other, for whoever keeps what Rewrite
// made: it is a digest of the package's own source.
var Fingerprint = sync.OnceValue(func() (sum [sha256.Size]byte) {
	files, err := sources.ReadDir(".")
	if err != nil {
		panic(err) // it was compiled in
	}
	h := sha256.New()
	for _, f := range files {
		text, err := sources.ReadFile(f.Name())
		if err != nil {
			panic(err)
		}
		h.Write([]byte(f.Name()))
		h.Write(text)
	}
	h.Sum(sum[:0])
	return sum
})
