package loader

import (
	"os"
	"path/filepath"
	"testing"
)

// A place that is not there, or cannot be listened at, is looked at; one that comes is news, once.
func TestFollow(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "plugins")
	n := newNotices(dir, nil)
	defer n.close()
	places := map[string]bool{dir: true}
	steps := []struct {
		name      string
		do        func() error
		all, news bool
	}{
		{"missing, in a parent that is new", func() error { return nil }, false, true},
		{"still missing", func() error { return nil }, false, false},
		{"there", func() error { return os.Mkdir(dir, 0o755) }, true, true},
		{"still there", func() error { return nil }, true, false},
		{"another in its place", func() error {
			if err := os.Rename(dir, dir+".old"); err != nil {
				return err
			}
			return os.Mkdir(dir, 0o755)
		}, true, true},
		{"a link in its place", func() error {
			if err := os.Rename(dir, dir+".older"); err != nil {
				return err
			}
			return os.Symlink(dir+".old", dir)
		}, true, true},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if all, news := n.follow(places); all != step.all || news != step.news {
			t.Errorf("%s: all %v, news %v", step.name, all, news)
		}
	}
	blind := newNotices(dir, &Options{blind: true})
	if all, news := blind.follow(places); all || news {
		t.Errorf("blind: all %v, news %v", all, news)
	}
	blind.close()
}
