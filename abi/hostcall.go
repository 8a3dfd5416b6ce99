package abi

import "strconv"

// CallErrorKind is a class of host calls that failed, and an error that errors.Is matches.
type CallErrorKind string

// All kinds. A reader must expect others.
const (
	Denied    CallErrorKind = "denied"    // the operator does not allow it
	Network   CallErrorKind = "network"   // the server or the way to it; it may pass
	Timeout   CallErrorKind = "timeout"   // it took too long
	TooLarge  CallErrorKind = "too_large" // what was sent, or has come back, is over a limit
	Quota     CallErrorKind = "quota"     // the key-value space is full
	Busy      CallErrorKind = "busy"      // other calls have the key-value space; it may pass
	Invalid   CallErrorKind = "invalid"   // the host cannot read what it is asked
	NotNow    CallErrorKind = "not_now"   // not while the plugin loads
	Cancelled CallErrorKind = "cancelled" // the caller of the tool has given up meanwhile
	Internal  CallErrorKind = "internal"  // the host's own trouble
)

func (k CallErrorKind) Error() string { return string(k) }

// CallError is how the host calls http and kv say that they failed: {error: {kind, message}}.
type CallError struct {
	Kind    CallErrorKind
	Message string
}

func (e *CallError) Error() string { return string(e.Kind) + ": " + e.Message }

// Is matches the kind.
func (e *CallError) Is(target error) bool { return target == e.Kind }

// AppendCallError appends e's msgpack form.
func AppendCallError(dst []byte, e *CallError) []byte {
	f := openFields(dst)
	f.key("error")
	inner := openFields(f.dst)
	inner.str("kind", string(e.Kind))
	inner.str("message", e.Message)
	return inner.dst
}

// HTTPHeader is one line of a head. A name may come more than once.
type HTTPHeader struct{ Name, Value string }

// HTTPRequest is the payload of the host call http.
type HTTPRequest struct {
	Method    string // "" is GET
	URL       string
	Headers   []HTTPHeader
	Body      []byte
	TimeoutMS int64 // 0: as long as the host allows
}

// HTTPResponse answers it.
type HTTPResponse struct {
	Status    int
	URL       string // of the last hop; "" when the host does not tell
	Headers   []HTTPHeader
	Body      []byte
	Truncated bool // the server had more than the host lets through
}

// AppendHTTPRequest appends q's msgpack form.
func AppendHTTPRequest(dst []byte, q *HTTPRequest) []byte {
	f := openFields(dst)
	f.str("method", orGet(q.Method))
	f.str("url", q.URL)
	f.key("headers")
	f.dst = appendHeaders(f.dst, q.Headers)
	if q.Body != nil {
		f.key("body")
		f.dst = AppendBin(f.dst, q.Body)
	}
	if q.TimeoutMS != 0 {
		f.int("timeout_ms", q.TimeoutMS)
	}
	return f.dst
}

func orGet(method string) string {
	if method == "" {
		return "GET"
	}
	return method
}

func appendHeaders(dst []byte, headers []HTTPHeader) []byte {
	return appendList(dst, headers, func(dst []byte, h *HTTPHeader) []byte {
		return AppendString(AppendString(AppendArrayHeader(dst, 2), h.Name), h.Value)
	})
}

// AppendHTTPResponse appends r's msgpack form.
func AppendHTTPResponse(dst []byte, r *HTTPResponse) []byte {
	f := openFields(dst)
	f.int("status", int64(r.Status))
	f.optStr("url", r.URL)
	f.key("headers")
	f.dst = appendHeaders(f.dst, r.Headers)
	f.key("body")
	f.dst = AppendBin(f.dst, r.Body)
	f.key("truncated")
	f.dst = AppendBool(f.dst, r.Truncated)
	return f.dst
}

// ParseHTTPResponse reads the answer of http. What the host reports is a *CallError, what is no
// answer a *DecodeError. Body aliases b.
func ParseHTTPResponse(b []byte) (HTTPResponse, error) {
	var a HTTPResponse
	err := parseAnswer(b, func(r *Reader, key string) (err error) {
		switch key {
		case "status":
			a.Status, err = r.small()
		case "url":
			a.URL, err = r.Str()
		case "headers":
			a.Headers, err = r.headers()
		case "body":
			a.Body, err = r.Bin()
		case "truncated":
			a.Truncated, err = r.Bool()
		default:
			err = r.Skip()
		}
		return err
	})
	if err == nil && a.Status == 0 {
		err = whole("the answer lacks its status")
	}
	return a, err
}

func (r *Reader) headers() ([]HTTPHeader, error) {
	n, err := r.Array()
	var list []HTTPHeader
	for range n {
		var h HTTPHeader
		at, size := r.pos, 0
		if size, err = r.Array(); err == nil && size != 2 {
			err = &DecodeError{at, "a header is a name and a value, and not " + strconv.Itoa(size)}
		}
		if err == nil {
			h.Name, err = r.Str()
		}
		if err == nil {
			h.Value, err = r.Str()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, err
}

// KVOp is what a key-value space is asked to do.
type KVOp string

// All operations.
const (
	KVGet    KVOp = "get"
	KVSet    KVOp = "set"
	KVDelete KVOp = "delete"
	KVList   KVOp = "list"
)

// KVRequest is the payload of the host call kv.
type KVRequest struct {
	Op     KVOp
	Key    string // of get, set and delete
	Value  Raw    // of set: any value
	Prefix string // of list: what the keys begin with
	After  string // of list: the key before the first
	Limit  int    // of list: the most keys to give; 0 and what is more is the host's own limit
}

// KVAnswer answers it.
type KVAnswer struct {
	Value Raw      // of get; nil when there is none
	Keys  []string // of list, sorted
	More  bool     // there are further keys
}

// AppendKVRequest appends q's msgpack form.
func AppendKVRequest(dst []byte, q *KVRequest) []byte {
	f := openFields(dst)
	f.str("op", string(q.Op))
	f.optStr("key", q.Key)
	if q.Value != nil {
		f.raw("value", q.Value)
	}
	f.optStr("prefix", q.Prefix)
	f.optStr("after", q.After)
	if q.Limit != 0 {
		f.int("limit", int64(q.Limit))
	}
	return f.dst
}

// AppendKVAnswer appends a's msgpack form, as the answer to op.
func AppendKVAnswer(dst []byte, op KVOp, a *KVAnswer) []byte {
	f := openFields(dst)
	switch {
	case op == KVGet && a.Value != nil:
		f.raw("value", a.Value)
	case op == KVList:
		f.key("keys")
		f.dst = AppendArrayHeader(f.dst, len(a.Keys))
		for _, key := range a.Keys {
			f.dst = AppendString(f.dst, key)
		}
		f.key("more")
		f.dst = AppendBool(f.dst, a.More)
	}
	return f.dst
}

// ParseKVAnswer reads the answer of kv. What the host reports is a *CallError, what is no answer a
// *DecodeError. Value aliases b.
func ParseKVAnswer(b []byte) (KVAnswer, error) {
	var a KVAnswer
	err := parseAnswer(b, func(r *Reader, key string) (err error) {
		switch key {
		case "value":
			a.Value, err = r.Raw()
		case "keys":
			a.Keys, err = r.strings()
		case "more":
			a.More, err = r.Bool()
		default:
			err = r.Skip()
		}
		return err
	})
	return a, err
}

// parseAnswer reads a map, each key of which field takes, unless it is an error.
func parseAnswer(b []byte, field func(r *Reader, key string) error) error {
	r := NewReader(b)
	n, err := r.Map()
	var failed *CallError
	for range n {
		var key []byte
		if key, err = r.StrBytes(); err != nil {
			return err
		}
		if string(key) == "error" {
			failed, err = r.callError()
		} else {
			err = field(r, string(key))
		}
		if err != nil {
			return err
		}
	}
	if err == nil {
		err = r.End()
	}
	if err == nil && failed != nil {
		return failed
	}
	return err
}

func (r *Reader) callError() (*CallError, error) {
	n, err := r.Map()
	e := &CallError{Kind: Internal}
	for range n {
		var key []byte
		if key, err = r.StrBytes(); err != nil {
			return nil, err
		}
		var text string
		switch string(key) {
		case "kind":
			text, err = r.Str()
			e.Kind = CallErrorKind(text)
		case "message":
			e.Message, err = r.Str()
		default:
			err = r.Skip()
		}
		if err != nil {
			return nil, err
		}
	}
	return e, err
}
