package abi

// The keys of a reply, one for each outcome, and the one that is kept for later.
const (
	keyOK             = "ok"
	keyContent        = "content"
	keyFailed         = "failed"
	keyInvalidInput   = "invalid_input"
	keyUnserializable = "unserializable"
	keyAsk            = "ask"
)

// The types of a content block.
const (
	BlockText  = "text"
	BlockImage = "image"
	BlockAudio = "audio"
	BlockFile  = "file"
)

// AppendReply appends r's msgpack form, and nil for a value that is not there. An Outcome that is
// none of the constants gives an empty map, which no host accepts.
func AppendReply(dst []byte, r *Reply) []byte {
	f := openFields(dst)
	switch r.Outcome {
	case OutcomeOK:
		f.raw(keyOK, r.Value)
	case OutcomeContent:
		f.key(keyContent)
		f.dst = AppendArrayHeader(f.dst, len(r.Content))
		for i := range r.Content {
			f.dst = appendBlock(f.dst, &r.Content[i])
		}
	case OutcomeFailed:
		f.key(keyFailed)
		f.dst = appendFailure(f.dst, r.Failure)
	case OutcomeInvalidInput:
		f.key(keyInvalidInput)
		f.dst = appendFailure(f.dst, &Failure{Message: r.Failure.Message, Pointer: r.Failure.Pointer})
	case OutcomeUnserializable:
		f.key(keyUnserializable)
		f.dst = appendFailure(f.dst, &Failure{Message: r.Failure.Message})
	}
	return f.dst
}

func appendBlock(dst []byte, b *Block) []byte {
	f := openFields(dst)
	f.str("type", b.Type)
	if b.Data != nil {
		f.key("data")
		f.dst = AppendBin(f.dst, b.Data)
	} else {
		f.str("text", b.Text)
	}
	f.optStr("mime", b.MIME)
	f.optStr("name", b.Name)
	return f.dst
}

func appendFailure(dst []byte, e *Failure) []byte {
	f := openFields(dst)
	f.optStr("code", e.Code)
	f.str("message", e.Message)
	f.optTrue("permanent", e.Permanent)
	f.optStr("pointer", e.Pointer)
	if e.Details != nil {
		f.raw("details", e.Details)
	}
	return f.dst
}

// ParseReply reads a reply. Unknown keys are ignored, and an optional field may be nil. It is a
// *DecodeError unless exactly one outcome is there, with all that it must hold and nothing of a
// wrong type. Value, Data and Details alias b. Strings are not checked to be UTF-8.
func ParseReply(b []byte) (Reply, error) {
	var p Reply
	r := NewReader(b)
	n, err := r.Map()
	for range n {
		at := r.Offset()
		var key []byte
		if key, err = r.StrBytes(); err != nil {
			return Reply{}, err
		}
		outcome := outcomeOf(string(key))
		switch {
		case string(key) == keyAsk:
			return Reply{}, &DecodeError{at, "the outcome ask needs a feature that this host lacks"}
		case outcome == 0:
			err = r.Skip()
		case p.Outcome != 0:
			return Reply{}, &DecodeError{at, "the reply has two outcomes"}
		default:
			p.Outcome = outcome
			err = p.parse(r)
		}
		if err != nil {
			return Reply{}, err
		}
	}
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
		return Reply{}, err
	case p.Outcome == 0:
		return Reply{}, whole("the reply has no outcome: no key is one of ok, content, failed, " +
			"invalid_input and unserializable")
	}
	return p, nil
}

func outcomeOf(key string) Outcome {
	switch key {
	case keyOK:
		return OutcomeOK
	case keyContent:
		return OutcomeContent
	case keyFailed:
		return OutcomeFailed
	case keyInvalidInput:
		return OutcomeInvalidInput
	case keyUnserializable:
		return OutcomeUnserializable
	}
	return 0
}

// parse reads the value of p's outcome.
func (p *Reply) parse(r *Reader) (err error) {
	switch p.Outcome {
	case OutcomeOK:
		p.Value, err = r.Raw()
	case OutcomeContent:
		p.Content, err = parseContent(r)
	default:
		p.Failure, err = parseFailure(r, p.Outcome)
	}
	return err
}

func parseContent(r *Reader) ([]Block, error) {
	at := r.Offset()
	n, err := r.Array()
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return nil, &DecodeError{at, "the content is empty: it needs at least one block"}
	}
	var blocks []Block
	for range n {
		b, err := parseBlock(r)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func parseBlock(r *Reader) (Block, error) {
	var b Block
	var hasText, hasData bool
	at := r.Offset()
	n, err := r.Map()
	for range n {
		var key []byte
		if key, err = r.StrBytes(); err != nil {
			return Block{}, err
		}
		switch present := r.Kind() != KindNil; {
		case !present:
			err = r.Nil()
		case string(key) == "type":
			b.Type, err = r.Str()
		case string(key) == "text":
			hasText = true
			b.Text, err = r.Str()
		case string(key) == "data":
			hasData = true
			b.Data, err = r.Bin()
		case string(key) == "mime":
			b.MIME, err = r.Str()
		case string(key) == "name":
			b.Name, err = r.Str()
		default:
			err = r.Skip()
		}
		if err != nil {
			return Block{}, err
		}
	}
	if err != nil {
		return Block{}, err
	}
	if detail := blockFault(b.Type, hasText, hasData); detail != "" {
		return Block{}, &DecodeError{at, detail}
	}
	return b, nil
}

// blockFault says what is wrong with a block of a type that has text, data, both or neither.
func blockFault(typ string, hasText, hasData bool) string {
	switch {
	case typ == BlockText && (!hasText || hasData):
		return "a text block needs text, and may have no data"
	case (typ == BlockImage || typ == BlockAudio) && (hasText || !hasData):
		return "an image or audio block needs data, and may have no text"
	case typ == BlockFile && hasText == hasData:
		return "a file block needs text or data, and not both"
	case typ == BlockText, typ == BlockImage, typ == BlockAudio, typ == BlockFile:
		return ""
	}
	return "the type of a block is none of text, image, audio and file"
}

// parseFailure reads what a failed, invalid_input or unserializable holds.
func parseFailure(r *Reader, o Outcome) (*Failure, error) {
	var f Failure
	hasMessage := false
	at := r.Offset()
	n, err := r.Map()
	for range n {
		var key []byte
		if key, err = r.StrBytes(); err != nil {
			return nil, err
		}
		switch k := string(key); {
		case r.Kind() == KindNil:
			err = r.Nil()
		case k == "message":
			hasMessage = true
			f.Message, err = r.Str()
		case k == "code" && o == OutcomeFailed:
			f.Code, err = r.Str()
		case k == "permanent" && o == OutcomeFailed:
			f.Permanent, err = r.Bool()
		case k == "details" && o == OutcomeFailed:
			f.Details, err = r.Raw()
		case k == "pointer" && o == OutcomeInvalidInput:
			f.Pointer, err = r.Str()
		default:
			err = r.Skip()
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !hasMessage:
		return nil, &DecodeError{at, "a failure needs a message"}
	}
	return &f, nil
}
