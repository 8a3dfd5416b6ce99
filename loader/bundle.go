package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// Bundler is a Kind whose plugins can be manifests, too: JSON files that name the modules that a
// plugin is made of. Such a file is called NAME.KIND.json or, in a folder NAME without a
// plugin.wasm, manifest.json. It is authority for nothing.
type Bundler interface {
	Kind

	// Bundle makes one module of a manifest, which holds all that counts of it, so that its digest is
	// the plugin's. read gives a file by its slash-separated path below the manifest's directory. The
	// same bytes give the same module.
	Bundle(manifest []byte, read func(name string) ([]byte, error)) (wasm []byte, err error)
}

// Bundled is a Kind of plugins that another one, a Bundler, may have made of a manifest. To any other
// kind, whatever it recognizes, the rest of what a manifest says would be lost.
type Bundled interface {
	Kind
	BundledBy() string // the Bundler's name
}

// reads tells whether a kind knows what a Bundler's modules carry.
func reads(k Kind, b Bundler) bool {
	other, ok := k.(Bundled)
	return k.Name() == b.Name() || ok && other.BundledBy() == b.Name()
}

// checkBundle refuses a policy that has a manifest read as if it were the module alone. No kind is
// this project's own contract.
func (p *plugin) checkBundle(kind Kind) error {
	b := p.opts.bundler(p.Path)
	if b == nil || kind != nil && reads(kind, b) {
		return nil
	}
	return fmt.Errorf("it is a manifest of the kind %s, and its policy calls it a plugin of the "+
		"kind %s, which cannot read one: leave kind out, or use the module itself", b.Name(),
		p.decision.Kind)
}

// manifestFile is what makes a folder the plugin of a Bundler.
const manifestFile = "manifest.json"

// bundler is the kind that reads a manifest; nil: the file is none.
func (o *Options) bundler(path string) Bundler {
	base := filepath.Base(path)
	for _, k := range o.kinds() {
		b, ok := k.(Bundler)
		if ok && (base == manifestFile || strings.HasSuffix(base, manifestSuffix(b))) {
			return b
		}
	}
	return nil
}

func manifestSuffix(k Kind) string { return "." + k.Name() + ".json" }

// stem is the name that a plugin has from its file's name.
func (o *Options) stem(path string) (name string, ok bool) {
	name = filepath.Base(path)
	if b := o.bundler(path); b != nil {
		return strings.CutSuffix(name, manifestSuffix(b))
	}
	return strings.CutSuffix(name, suffix)
}

// source is what a plugin is made of, as it was read.
type source struct {
	wasm  []byte
	info  fs.FileInfo            // of the plugin's file
	parts map[string]fs.FileInfo // of the others that a manifest names, by path
}

// fileState tells one state of a plugin's files from another without reading them.
type fileState struct {
	File  identity
	Parts map[string]identity `json:",omitempty"`
}

func (s *source) state() fileState {
	state := fileState{File: identify(s.info)}
	for path, info := range s.parts {
		if state.Parts == nil {
			state.Parts = map[string]identity{}
		}
		state.Parts[path] = identify(info)
	}
	return state
}

// holds tells whether the files are as they were; info is of the plugin's own.
func (s *fileState) holds(info fs.FileInfo) bool {
	if s.File != identify(info) {
		return false
	}
	for path, was := range s.Parts {
		if info, err := os.Stat(path); err != nil || identify(info) != was {
			return false
		}
	}
	return true
}

// size is that of all files, in bytes.
func (s *fileState) size() int64 {
	sum := s.File.Size
	for _, part := range s.Parts {
		sum += part.Size
	}
	return sum
}

// any tells whether something holds of one of the files, which were read at a time.
func (s *source) any(holds func(fs.FileInfo, time.Time) bool, at time.Time) bool {
	if holds(s.info, at) {
		return true
	}
	for _, info := range s.parts {
		if holds(info, at) {
			return true
		}
	}
	return false
}

// ReadPlugin gives the bytes that a plugin's digest is of: its module, or the one that a manifest
// makes. They are at most host.DefaultModule, and so are all files that they are made of.
func ReadPlugin(path string, opts *Options) ([]byte, error) {
	p := &plugin{opts: opts}
	p.Path = path
	s, err := p.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s.wasm, nil
}

// read gives the plugin's bytes, from however many files.
func (p *plugin) read() (s source, err error) {
	if p.opts != nil && p.opts.onRead != nil {
		p.opts.onRead(p.Path)
	}
	max := p.maxModule()
	if s.wasm, s.info, err = read(p.Path, max); err != nil {
		return s, err
	}
	b := p.opts.bundler(p.Path)
	if b == nil {
		return s, nil
	}
	dir := filepath.Dir(p.Path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, unwrapPath(err)
	}
	defer root.Close()
	s.parts = map[string]fs.FileInfo{}
	left := max - int64(len(s.wasm))
	s.wasm, err = b.Bundle(s.wasm, func(name string) ([]byte, error) {
		content, info, err := readPart(root, name, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", show(name), err)
		}
		left -= int64(len(content))
		s.parts[filepath.Join(dir, filepath.FromSlash(name))] = info
		return content, nil
	})
	if err == nil && int64(len(s.wasm)) > max {
		err = fmt.Errorf("its modules make %d bytes, over the limit of %d bytes", len(s.wasm), max)
	}
	return s, err
}

// errOutside is a part that lies somewhere else.
var errOutside = errors.New("it must lie in the manifest's directory or below, and no link may " +
	"lead out of that")

func readPart(root *os.Root, name string, max int64) ([]byte, fs.FileInfo, error) {
	if !fs.ValidPath(name) || strings.ContainsAny(name, `\:`) || abi.CleanText(name, maxPath) != name {
		return nil, nil, errOutside
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|openNonblock, 0)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(pe.Err.Error(),
			"escapes") {
			return nil, nil, errOutside
		}
		return nil, nil, unwrapPath(err)
	}
	defer f.Close()
	return readFrom(f, max)
}

// speaks drops files NAME.wasm beside a manifest of the same NAME, which speaks for them.
func speaks(found []candidate, o *Options) []candidate {
	spoken := map[string]bool{}
	for _, c := range found {
		if o.bundler(c.path) != nil {
			spoken[c.name] = true
		}
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		return spoken[c.name] && strings.HasSuffix(c.path, suffix) &&
			filepath.Base(c.path) != folderFile
	})
}
