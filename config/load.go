package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/adrg/xdg"
)

// ProjectFile is the name of a project's file. It is looked for in the working directory only: a
// directory above may be somebody else's, such as /tmp, and nobody expects it to have a say.
const ProjectFile = ".wasmagent.toml"

// UserFile is where the user's file is when no other is named.
func UserFile() string { return filepath.Join(xdg.ConfigHome, "wasmagent", "wasmagent.toml") }

// Options of Load. Nil and zero fields are the documented defaults.
type Options struct {
	File string // the user's file, which must be there; "": UserFile(), which need not
	Dir  string // the project's directory; "": the working directory

	// Overrides are what flags and the environment say. They are the user's own word.
	Overrides []Override
}

// Override is a value that counts more than that of any file.
type Override struct {
	Key   string // such as budgets.steps
	Value any    // a string, bool, int, int64, float64 or []string, as a file would have it
	From  string // the flag, such as --max-steps, or the variable, such as $NAME
}

// Load reads the files and puts the layers over each other. What is wrong with a file are *Errors,
// joined, at most MaxProblems.
func Load(opts *Options) (*Config, error) {
	if opts == nil {
		opts = &Options{}
	}
	all := &values{map[string]value{}}
	user, err := all.user(opts.File)
	if err != nil {
		return nil, err
	}
	if err := all.project(opts.Dir, user); err != nil {
		return nil, err
	}
	if err := all.override(opts.Overrides); err != nil {
		return nil, err
	}
	c := &Config{values: all}
	for i := range keys {
		for _, v := range all.of(&keys[i]) {
			if v.v != nil {
				name, _ := keys[i].match(v.at)
				keys[i].set(c, name, v.v)
			}
		}
	}
	return c, nil
}

// user takes the user's file, and tells which that is.
func (v *values) user(named string) (file string, err error) {
	file = named
	if named == "" {
		file = UserFile()
	}
	content, err := readUser(file)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return "", wrap(file, err)
	}
	leaves, bad, err := parseFile(file, content)
	if err != nil {
		return "", err
	}
	for _, l := range leaves {
		if bad.full() {
			break
		}
		if isPolicy(l.at) {
			continue
		}
		next, err := parse(l.at, l.raw, filepath.Dir(file))
		if err != nil {
			bad.add(l.line, text(l.at), "%v", err)
			continue
		}
		v.put(l.at, next, Origin{Kind: FromUser, File: file, Line: l.line})
	}
	return file, bad.err()
}

// project takes the file of the directory, as far as it may say what it says.
func (v *values) project(dir, user string) error {
	file := filepath.Join(dir, ProjectFile)
	content, err := readProject(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && sameFile(file, user) {
		return nil
	}
	if err != nil {
		return wrap(file, err)
	}
	leaves, bad, err := parseFile(file, content)
	if err != nil {
		return err
	}
	have := v.clone()
	for _, l := range leaves {
		if bad.full() {
			break
		}
		from := Origin{Kind: FromProject, File: file, Line: l.line}
		if err := v.allow(have, l, from, user); err != nil {
			bad.add(l.line, text(l.at), "%v", err)
		}
	}
	return bad.err()
}

// allow puts a value of a project over what the user has, if it may.
func (v *values) allow(have *values, l leaf, from Origin, user string) error {
	k, _ := find(l.at)
	if k == nil || k.project == nil {
		return fmt.Errorf("only the user's file may say this: %s", user)
	}
	next, err := parse(l.at, l.raw, "")
	if err != nil {
		return err
	}
	old := have.get(l.at)
	merged, err := k.project(have, old, next)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(merged, next) { // it adds to the user's
		v.put(l.at, merged, append(old.from[:len(old.from):len(old.from)], from)...)
	} else {
		v.put(l.at, merged, from)
	}
	return nil
}

func (v *values) override(list []Override) error {
	var all []error
	for _, o := range list {
		at := strings.Split(o.Key, ".")
		origin := Origin{Kind: FromFlag, Name: o.From}
		if strings.HasPrefix(o.From, "$") {
			origin.Kind = FromEnvironment
		}
		next, err := parse(at, plain(o.Value), "")
		if err != nil {
			all = append(all, &Error{From: o.From, Key: o.Key, Detail: err.Error()})
			continue
		}
		v.put(at, next, origin)
	}
	return errors.Join(all...)
}

// plain makes what a caller has what a file would give.
func plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case []string:
		all := make([]any, len(v))
		for i, s := range v {
			all[i] = s
		}
		return all
	}
	return v
}

func (v *values) put(at []string, next any, from ...Origin) {
	v.set[text(at)] = value{at, next, from}
}

// parse makes a value. A path is one below base.
func parse(at []string, raw any, base string) (any, error) {
	k, name := find(at)
	if k == nil {
		return nil, fmt.Errorf("there is no such key%s", meant(at))
	}
	if k.tool && (!toolName.MatchString(name) || strings.HasSuffix(name, "*")) {
		return nil, errors.New("want the name of one tool; the beginning of names and a * are for " +
			"tools.allow and tools.deny")
	}
	v, err := k.parse(raw)
	if err != nil || !k.path || filepath.IsAbs(v.(string)) {
		return v, err
	}
	return filepath.Abs(filepath.Join(base, v.(string)))
}

// wrap tells which file could not be read.
func wrap(file string, err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		return &Error{File: file, Detail: path.Err.Error(), Err: err}
	}
	return &Error{File: file, Detail: err.Error()}
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
