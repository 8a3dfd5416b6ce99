package abi

import (
	"reflect"
	"testing"
)

func TestRequestRoundTrip(t *testing.T) {
	for _, want := range []Request{
		{Tool: "add", Input: Raw{0x80}},
		{Tool: "add", CallID: "c", Attempt: 3, IdempotencyKey: "k", DeadlineMS: 30_000,
			Host: []string{"a", "b"}, Input: Raw{0x92, 0x01, 0xa1, 'x'}},
	} {
		got, err := ParseRequest(AppendRequest(nil, &want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	got, err := ParseRequest(AppendRequest(nil, &Request{Tool: "add"}))
	if err != nil || string(got.Input) != "\xc0" {
		t.Errorf("a request without arguments has the input %x, %v, want nil", got.Input, err)
	}
}

func TestReplyRoundTrip(t *testing.T) {
	for _, want := range []Reply{
		{Outcome: OutcomeOK, Value: Raw{0x91, 0xc0}},
		{Outcome: OutcomeContent, Content: []Block{
			{Type: BlockText, Text: "hi"},
			{Type: BlockText},
			{Type: BlockImage, Data: []byte{1}, MIME: "image/png", Name: "a.png"},
			{Type: BlockAudio, Data: []byte{}},
			{Type: BlockFile, Text: "a,b", MIME: "text/csv"},
		}},
		{Outcome: OutcomeFailed, Failure: &Failure{Message: "m"}},
		{Outcome: OutcomeFailed, Failure: &Failure{Code: "c", Message: "m", Permanent: true,
			Details: Raw{0x01}}},
		{Outcome: OutcomeInvalidInput, Failure: &Failure{Message: "m", Pointer: "/a"}},
		{Outcome: OutcomeUnserializable, Failure: &Failure{Message: "m"}},
	} {
		got, err := ParseReply(AppendReply(nil, &want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestReplyWithoutOutcomeIsRefused(t *testing.T) {
	if _, err := ParseReply(AppendReply(nil, &Reply{})); err == nil {
		t.Error("a reply without an outcome passes")
	}
}

// What an outcome cannot hold is not written: kits share one Failure for three outcomes.
func TestReplyWritesOnlyWhatItsOutcomeHolds(t *testing.T) {
	all := &Failure{Code: "c", Message: "m", Permanent: true, Pointer: "/a", Details: Raw{1}}
	for outcome, want := range map[Outcome]Failure{
		OutcomeFailed:         {Code: "c", Message: "m", Permanent: true, Details: Raw{1}},
		OutcomeInvalidInput:   {Message: "m", Pointer: "/a"},
		OutcomeUnserializable: {Message: "m"},
	} {
		got, err := ParseReply(AppendReply(nil, &Reply{Outcome: outcome, Failure: all}))
		if err != nil || !reflect.DeepEqual(*got.Failure, want) {
			t.Errorf("outcome %d: got %+v, %v, want %+v", outcome, got.Failure, err, want)
		}
	}
}

func TestEffectWords(t *testing.T) {
	for effect, word := range map[Effect]string{
		EffectWrite: "write", EffectRead: "read", EffectIdempotent: "idempotent"} {
		if got, ok := ParseEffect(word); got != effect || !ok || effect.String() != word {
			t.Errorf("%q: %v, %t; %v", word, got, ok, effect)
		}
	}
	if got, ok := ParseEffect(""); got != EffectWrite || !ok {
		t.Errorf("no word is %v, %t, want the safest effect", got, ok)
	}
	if _, ok := ParseEffect("Read"); ok {
		t.Error("Read is an effect")
	}
	if got := Effect(9).String(); got != "unknown" {
		t.Errorf("effect 9 is %q", got)
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add(AppendRequest(nil, &Request{Tool: "t", CallID: "c", Attempt: 1, Host: []string{"x"}}))
	f.Add([]byte("\xdf\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := ParseRequest(b)
		if err != nil {
			return
		}
		again, err := ParseRequest(AppendRequest(nil, &q))
		if err != nil || len(q.Host) > 0 && !reflect.DeepEqual(q, again) {
			t.Fatalf("%+v comes back as %+v, %v", q, again, err)
		}
	})
}

func FuzzParseReply(f *testing.F) {
	f.Add(AppendReply(nil, &Reply{Outcome: OutcomeOK, Value: Raw{0x91, 0x01}}))
	f.Add(AppendReply(nil, &Reply{Outcome: OutcomeContent, Content: []Block{{Type: "text", Text: "x"},
		{Type: "image", Data: []byte{1}, MIME: "image/png"}}}))
	f.Add(AppendReply(nil, &Reply{Outcome: OutcomeFailed, Failure: &Failure{Code: "c", Message: "m",
		Permanent: true, Details: Raw{0xc0}}}))
	f.Add(AppendReply(nil, &Reply{Outcome: OutcomeInvalidInput, Failure: &Failure{Pointer: "/a"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseReply(b)
		if err != nil {
			return
		}
		again, err := ParseReply(AppendReply(nil, &p))
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("%+v comes back as %+v, %v", p, again, err)
		}
	})
}
