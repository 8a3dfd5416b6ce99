package loader

import (
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// LoadError is a plugin that cannot be loaded: the file cannot be read, is no plugin, or did not
// get through a stage of loading. Err is often a *host.LoadError.
type LoadError struct {
	Plugin, Path string
	Err          error
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("plugin %q (%s): %v", e.Plugin, show(e.Path), e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }

// NotAllowedError is a plugin that its operator has not allowed: it needs what is not granted, or
// it is granted something and nobody approved of it as it is now.
type NotAllowedError struct {
	Plugin, Path string
	Needs        []string // not granted, such as "http api.example.com" and "kv", sorted
	// Approval says that all is granted, and what is missing is the approval. Changed is then what
	// is no more as it was when it was approved: "file", "kind", "needs", "policy"; nil: it never was.
	Approval bool
	Changed  []string
	Allow    string // what an operator would type, such as wasmagent allow fetch --kv

	words []string // the needs with what they are wanted for, as far as that is unusual
}

func (e *NotAllowedError) Error() string {
	words := e.Needs
	if len(e.words) == len(words) {
		words = e.words
	}
	why := "it needs " + strings.Join(words, ", ") + ", and nobody granted that"
	switch {
	case e.Approval && len(e.Changed) > 0:
		why = "it needs approval, since its " +
			strings.Join(e.Changed, " and ") + " changed after it was allowed"
	case e.Approval:
		why = "it needs approval of what is granted to it"
	}
	return fmt.Sprintf("plugin %q (%s) is not allowed: %s; to allow it: %s",
		e.Plugin, show(e.Path), why, show(e.Allow))
}

// SpecError is a tool of a good plugin that is not offered, since it is not as a tool has to be: most
// often one of its schemas.
type SpecError struct {
	Plugin, Path, Tool string
	Detail             string
}

func (e *SpecError) Error() string {
	return fmt.Sprintf("tool %q of plugin %q (%s): %s", e.Tool, e.Plugin, show(e.Path), e.Detail)
}

// CollisionError is a name that several files claim. None of them gets it, unless one had it before
// another came.
type CollisionError struct {
	What  string   // "tool" or "plugin"
	Name  string   // the name
	Paths []string // the files, sorted
	Kept  string   // the one that had it, and still has; "": none
}

func (e *CollisionError) Error() string {
	who := "none of them offers it"
	if e.Kept != "" {
		who = show(e.Kept) + " had it first and keeps it"
	}
	text := fmt.Sprintf("%s %q is claimed by %s: %s; rename or remove one",
		e.What, e.Name, show(strings.Join(e.Paths, " and ")), who)
	if e.What == "tool" {
		text += ", or in the policy set its prefix (of a plugin, prefix = true) or, under functions, " +
			"another name"
	}
	return text
}

// ChangedError is a file that is not the one that was listed.
type ChangedError struct {
	Listed, Found string // digests
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the file changed after it was listed (%s, now %s): open the directory again",
		short(e.Listed), short(e.Found))
}

// AuthorityError is a file inside a plugin directory whose name claims to be an operator's word.
type AuthorityError struct{ File string }

func (e *AuthorityError) Error() string {
	return fmt.Sprintf("%s lies inside a plugin directory and has no authority there: "+
		"remove it", show(e.File))
}

// maxPath is how many characters of a path are shown.
const maxPath = 4096

// show makes a path fit to print: whoever fills a directory also chooses its file names.
func show(path string) string { return abi.CleanText(path, maxPath) }

// short cuts a digest for people: the algorithm and twelve digits.
func short(digest string) string {
	if len(digest) > len("sha256:")+12 {
		return digest[:len("sha256:")+12]
	}
	return digest
}
