package excerpt

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	DefaultMax  = 48 << 10 // bytes of a text that a model is shown
	MinMax      = 1 << 10  // a smaller Store.Max counts as this
	DefaultKeep = 64 << 20 // bytes of all texts that are kept
)

// Store cuts texts and keeps them. The zero value is ready; it is safe for concurrent use.
type Store struct {
	Max  int // bytes of an excerpt and of one answer of read_more; 0: DefaultMax
	Keep int // bytes of all kept texts; a text of more is cut and not kept; 0: DefaultKeep

	// Secret makes handles random, for a store whose texts not everybody may read who can name a
	// handle. The same text then has another handle each time.
	Secret bool

	// Age is how long a text is kept at most; 0: until its room is needed.
	Age time.Duration

	mu    sync.Mutex
	texts map[string]kept // by handle
	order []string        // of the handles, oldest first
	size  int
}

type kept struct {
	text  string
	since time.Time
}

// Excerpt is a text as a model is shown it.
type Excerpt struct {
	Text   string
	Handle string // for read_more; "" when nothing was cut or the whole was too long to keep
	Bytes  int    // of the whole text; 0 when nothing was cut
}

// markerRoom is how many bytes the line about what is left out may take.
const markerRoom = 192

// Cut makes an excerpt of a text of more than Max bytes, and leaves any other as it is.
func (s *Store) Cut(text string) Excerpt {
	if len(text) <= s.max() {
		return Excerpt{Text: text}
	}
	room := s.max() - markerRoom
	head := floor(text, room*3/4)
	tail := ceil(text, len(text)-(room-head))
	handle := s.keep(text)
	how := "they are too many to be kept"
	if handle != "" {
		how = fmt.Sprintf(`%s {"handle":%q,"offset":%d} reads on`, Name, handle, head)
	}
	return Excerpt{
		Text: fmt.Sprintf("%s\n[… %d of %d bytes left out here: %s …]\n%s", text[:head], tail-head,
			len(text), how, text[tail:]),
		Handle: handle,
		Bytes:  len(text),
	}
}

// Empty reports whether no text is kept, so that there is nothing to read on.
func (s *Store) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return len(s.texts) == 0
}

// keep stores a text and gives its handle, or "" when it alone is more than may be kept.
func (s *Store) keep(text string) string {
	limit := s.Keep
	if limit <= 0 {
		limit = DefaultKeep
	}
	if len(text) > limit {
		return ""
	}
	handle := handleOf(text)
	if s.Secret {
		handle = "out-" + rand.Text()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if _, ok := s.texts[handle]; ok {
		return handle
	}
	for s.size+len(text) > limit {
		s.drop()
	}
	if s.texts == nil {
		s.texts = map[string]kept{}
	}
	s.texts[handle] = kept{text, time.Now()}
	s.order = append(s.order, handle)
	s.size += len(text)
	return handle
}

// expire drops the texts that are too old. The lock is held.
func (s *Store) expire() {
	for s.Age > 0 && len(s.order) > 0 && time.Since(s.texts[s.order[0]].since) >= s.Age {
		s.drop()
	}
}

// drop drops the oldest text. The lock is held.
func (s *Store) drop() {
	s.size -= len(s.texts[s.order[0]].text)
	delete(s.texts, s.order[0])
	s.order = s.order[1:]
}

func (s *Store) text(handle string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	k, ok := s.texts[handle]
	return k.text, ok
}

func (s *Store) max() int {
	if s.Max <= 0 {
		return DefaultMax
	}
	return max(s.Max, MinMax)
}

// handleOf names a text by 64 bits of its digest: enough that nobody makes another one for it.
func handleOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("out-%x", sum[:8])
}

// floor is the beginning of the character at byte i, ceil that of the next one unless i begins one.
func floor(s string, i int) int {
	for n := 0; n < utf8.UTFMax && i > 0 && i < len(s) && !utf8.RuneStart(s[i]); n++ {
		i--
	}
	return i
}

func ceil(s string, i int) int {
	for n := 0; n < utf8.UTFMax && i < len(s) && !utf8.RuneStart(s[i]); n++ {
		i++
	}
	return i
}
