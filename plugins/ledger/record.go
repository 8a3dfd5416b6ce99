package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Kinds of records, as they are stored.
const (
	KindIntent     = "intent"     // a call is about to run; with a key that it claims
	KindCompletion = "completion" // it ended
	KindCopy       = "copy"       // it did not run: another call had its result
	KindResolution = "resolution" // an operator said what became of it
	KindRelease    = "release"    // its key is free: by an operator, or since it died
	KindAbandon    = "abandon"    // the run was given up
)

// Operator is who wrote a record that is not a process's own.
const Operator = "operator"

// Record is one row of a run's chain. Fields that its kind does not have are zero.
type Record struct {
	Run      string
	Number   int       // in the run's chain, from 1
	Kind     string    // one of the kinds above
	Position int       // of the call in the run, from 1; 0 when it is about the whole run
	At       time.Time // by the clock of who wrote it
	Who      string    // Operator, or the random name of an opened ledger

	Scope, Tool, Key string
	CallID           string
	Effect           abi.Effect
	Input            json.RawMessage // of an intent
	InputHash        [sha256.Size]byte

	State    plugins.State     // what became of the claim; of completions and resolutions
	Output   plugins.Output    // the result, when there was one
	Failure  *plugins.Recorded // else what there was instead
	Attempts int
	From     plugins.Place // of a copy
	FromRow  int           // the number, in the run of From, of the record that has the result
	Reason   string        // an operator's

	Prev, Hash [sha256.Size]byte // the hash of the record before, and the one over all of this

	failure []byte // Failure as stored
	content []byte // Output.Content as stored
}

// place is where the call is that r is about.
func (r *Record) place() plugins.Place { return plugins.Place{Run: r.Run, Position: r.Position} }

func (r *Record) slot() slot { return slot{r.Scope, r.Tool, r.Key} }

// claims reports whether an intent holds its key.
func (r *Record) claims() bool {
	return r.Kind == KindIntent && r.Key != "" && r.Effect != abi.EffectRead
}

// known reports whether r says what became of its call.
func (r *Record) known() bool {
	switch r.Kind {
	case KindCopy, KindResolution:
		return true
	case KindCompletion:
		return r.Failure == nil || r.Failure.Kind != ""
	}
	return false
}

// err is the failure that r has, or nil.
func (r *Record) err() error {
	if r.Failure == nil {
		return nil
	}
	return r.Failure.Err()
}

// columns are those of the table of records, in the order of [Record.values]. Those that may be
// long come last, so that the others are read without them.
const columns = `run, number, position, kind, at, who, scope, tool, key, call_id, effect,
	input_hash, state, attempts, from_run, from_position, from_row, reason, input, value, content,
	failure, prev`

// values are what r stores, apart from its hash.
func (r *Record) values() []any {
	return []any{
		r.Run, int64(r.Number), int64(r.Position), r.Kind, r.At.UnixNano(), r.Who,
		r.Scope, r.Tool, r.Key, r.CallID, r.Effect.String(), r.InputHash[:],
		stateWords[r.State], int64(r.Attempts), r.From.Run, int64(r.From.Position),
		int64(r.FromRow), r.Reason,
		[]byte(r.Input), []byte(r.Output.Value), r.content, r.failure, r.Prev[:],
	}
}

var stateWords = [...]string{plugins.Unknown: "unknown", plugins.Done: "done",
	plugins.Released: "released"}

// seal codes what r has and hashes it.
func (r *Record) seal() (err error) {
	if r.Output.Content != nil {
		r.content = codeContent(r.Output.Content)
	}
	if r.Failure != nil {
		if r.failure, err = json.Marshal(r.Failure); err != nil {
			return err
		}
	}
	r.Hash = hashOf(r.values())
	return nil
}

// hashOf is the SHA-256 over values, each with its type and length before it, so that no two lists
// of values have the same bytes. Empty bytes and none are the same.
func hashOf(values []any) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte("wasmagent ledger record 1\n"))
	var head [9]byte
	put := func(kind byte, n uint64) {
		head[0] = kind
		binary.BigEndian.PutUint64(head[1:], n)
		h.Write(head[:])
	}
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			put('i', uint64(v))
		case string:
			put('s', uint64(len(v)))
			h.Write([]byte(v))
		case []byte:
			put('b', uint64(len(v)))
			h.Write(v)
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// scanner is a row of a query.
type scanner interface{ Scan(dest ...any) error }

// scanRecord reads a row of columns and hash, and checks that the row is as it was written. A
// *TamperError comes with what could be read.
func scanRecord(row scanner) (*Record, error) {
	r, ok, err := scanRow(row)
	switch {
	case err != nil:
		return nil, err
	case !ok || hashOf(r.values()) != r.Hash:
		return r, &TamperError{r.Run, r.Position, r.Number, "it was changed after it was written"}
	}
	if err := r.decode(); err != nil {
		return r, &TamperError{r.Run, r.Position, r.Number, err.Error()}
	}
	return r, nil
}

// scanRow reads a row of columns and hash; ok is false when it has words that no record has.
func scanRow(row scanner) (_ *Record, ok bool, err error) {
	var (
		r                     Record
		at                    int64
		effect, state         string
		input, value          []byte
		inputHash, prev, hash []byte
	)
	err = row.Scan(&r.Run, &r.Number, &r.Position, &r.Kind, &at, &r.Who, &r.Scope, &r.Tool, &r.Key,
		&r.CallID, &effect, &inputHash, &state, &r.Attempts, &r.From.Run, &r.From.Position, &r.FromRow,
		&r.Reason, &input, &value, &r.content, &r.failure, &prev, &hash)
	if err != nil {
		return nil, false, err
	}
	r.At = time.Unix(0, at).UTC()
	r.Input, r.Output.Value = input, value
	r.Effect, ok = abi.ParseEffect(effect)
	word := slices.Index(stateWords[:], state)
	r.State = plugins.State(max(word, 0))
	ok = ok && effect != "" && word >= 0
	ok = fill(&r.InputHash, inputHash) && fill(&r.Prev, prev) && fill(&r.Hash, hash) && ok
	return &r, ok, nil
}

// fill reports whether src is a hash, and copies it.
func fill(dst *[sha256.Size]byte, src []byte) bool {
	return copy(dst[:], src) == len(dst) && len(src) == len(dst)
}

// decode reads what seal coded.
func (r *Record) decode() (err error) {
	if r.content != nil {
		if r.Output.Content, err = readContent(r.content); err != nil {
			return fmt.Errorf("its content cannot be read: %w", err)
		}
	}
	if r.failure != nil {
		r.Failure = new(plugins.Recorded)
		if err := json.Unmarshal(r.failure, r.Failure); err != nil {
			return fmt.Errorf("its failure cannot be read: %w", err)
		}
	}
	return nil
}

// codeContent codes blocks as msgpack: an array of blocks, each an array of its five fields as they
// are, since a native tool's text need not be UTF-8, which JSON would lose.
func codeContent(blocks []abi.Block) []byte {
	b := abi.AppendArrayHeader(nil, len(blocks))
	for i := range blocks {
		block := &blocks[i]
		b = abi.AppendArrayHeader(b, blockFields)
		for _, text := range []string{block.Type, block.Text, block.MIME, block.Name} {
			b = abi.AppendBin(b, []byte(text))
		}
		if block.Data == nil {
			b = abi.AppendNil(b)
		} else {
			b = abi.AppendBin(b, block.Data)
		}
	}
	return b
}

const blockFields = 5

func readContent(b []byte) ([]abi.Block, error) {
	r := abi.NewReader(b)
	n, err := r.Array()
	if err != nil {
		return nil, err
	}
	blocks := make([]abi.Block, n)
	for i := range blocks {
		if err := readBlock(r, &blocks[i]); err != nil {
			return nil, err
		}
	}
	return blocks, r.End()
}

func readBlock(r *abi.Reader, block *abi.Block) error {
	switch n, err := r.Array(); {
	case err != nil:
		return err
	case n != blockFields:
		return fmt.Errorf("a block of %d fields, want %d", n, blockFields)
	}
	for _, text := range []*string{&block.Type, &block.Text, &block.MIME, &block.Name} {
		b, err := r.Bin()
		if err != nil {
			return err
		}
		*text = string(b)
	}
	if r.Kind() == abi.KindNil {
		return r.Nil()
	}
	data, err := r.Bin()
	block.Data = slices.Clone(data)
	if block.Data == nil {
		block.Data = []byte{}
	}
	return err
}
