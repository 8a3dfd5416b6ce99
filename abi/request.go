package abi

import "strconv"

// AppendRequest appends r's msgpack form, and nil for arguments that are not there.
// IdempotencyKey, DeadlineMS and Host are left out when they are zero.
func AppendRequest(dst []byte, r *Request) []byte {
	f := openFields(dst)
	f.int("v", Version)
	f.str("tool", r.Tool)
	f.str("call_id", r.CallID)
	f.int("attempt", int64(r.Attempt))
	f.optStr("key", r.IdempotencyKey)
	if r.DeadlineMS != 0 {
		f.int("deadline_ms", r.DeadlineMS)
	}
	f.optStrings("host", r.Host)
	f.raw("input", r.Input)
	return f.dst
}

// ParseRequest reads a request. Unknown keys are ignored; a request of another version, or without
// a tool or an input, is a *DecodeError. Input aliases b.
func ParseRequest(b []byte) (Request, error) {
	var q Request
	var version int64
	r := NewReader(b)
	n, err := r.Map()
	for range n {
		var key []byte
		if key, err = r.StrBytes(); err != nil {
			break
		}
		switch string(key) {
		case "v":
			version, err = r.Int()
		case "tool":
			q.Tool, err = r.Str()
		case "call_id":
			q.CallID, err = r.Str()
		case "attempt":
			q.Attempt, err = r.small()
		case "key":
			q.IdempotencyKey, err = r.Str()
		case "deadline_ms":
			q.DeadlineMS, err = r.Int()
		case "host":
			q.Host, err = r.strings()
		case "input":
			q.Input, err = r.Raw()
		default:
			err = r.Skip()
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
		return Request{}, err
	case version != Version:
		return Request{}, whole("the request speaks version " + strconv.FormatInt(version, 10) +
			" of the contract, and this plugin version " + strconv.Itoa(Version))
	case q.Tool == "" || q.Input == nil:
		return Request{}, whole("the request lacks its tool or its input")
	}
	return q, nil
}

// whole is what is wrong with a value as a whole, the outermost one.
func whole(detail string) error { return &DecodeError{Detail: detail} }

// small reads an int of at most 32 bits, so that it is the same on every platform.
func (r *Reader) small() (int, error) {
	at := r.pos
	v, err := r.Int()
	if err == nil && int64(int32(v)) != v {
		return 0, &DecodeError{at, "the integer needs more than 32 bits"}
	}
	return int(v), err
}

func (r *Reader) strings() ([]string, error) {
	n, err := r.Array()
	var list []string
	for range n {
		var s string
		if s, err = r.Str(); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, err
}
