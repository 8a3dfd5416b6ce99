package reduce_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

// TestSearch finds texts in what was reduced, and only there.
func TestSearch(t *testing.T) {
	filler := strings.Repeat("é.", 400)
	list := conversation(one(said(message.User, "needle")),
		asked("a", "f", "{}", filler+"NeedLe É"+filler),
		asked("b", "f", "{}", "needle"), asked("c", "f", `{"a":"`+filler+`needle"}`, "x"))
	_, log := reduce.Project(list, all, nil)
	hits, more := reduce.Search(list, log, "nEEdle")
	if len(hits) != 2 || more || hits[0].ID != log[0].ID || hits[1].ID != log[1].ID {
		t.Fatalf("%+v, %v", hits, more)
	}
	for i, original := range []string{list[2].Result.Text, list[5].Calls[0].Arguments} {
		h := hits[i]
		if !utf8.ValidString(h.Text) || !strings.HasPrefix(original[h.Offset:], h.Text) ||
			len(h.Text) > 220 || !strings.Contains(strings.ToLower(h.Text), "needle") {
			t.Errorf("%+v", h)
		}
	}
	if hits, more := reduce.Search(list, log, "é É"); hits != nil || more {
		t.Errorf("large and small letters are the same only in ASCII: %+v", hits)
	}
	if hits, more := reduce.Search(list, log, ""); hits != nil || more {
		t.Errorf("nothing is found everywhere: %+v", hits)
	}
	list[2].Result.Text += "!"
	if hits, _ := reduce.Search(list, log, "needle"); len(hits) != 1 || hits[0].ID != log[1].ID {
		t.Errorf("in an original that is another one: %+v", hits)
	}
}

// TestSearchIsBounded pins how many places a search gives.
func TestSearchIsBounded(t *testing.T) {
	list := one(said(message.User, "go"))
	place := "needle" + strings.Repeat(".", 300)
	for i := range 5 {
		list = append(list, asked("a", "f", "{}", strings.Repeat(place, 5)+string(rune('0'+i)))...)
	}
	for originals, want := range map[int]struct {
		hits int
		more bool
	}{1: {5, false}, 4: {20, false}, 5: {20, true}} {
		part := list[:1+2*originals]
		_, log := reduce.Project(part, all, nil)
		if hits, more := reduce.Search(part, log, "needle"); len(hits) != want.hits || more != want.more {
			t.Errorf("in %d originals: %d, %v", originals, len(hits), more)
		}
	}
	part := conversation(list[:1], asked("a", "f", "{}", strings.Repeat(place, 6)))
	_, log := reduce.Project(part, all, nil)
	if hits, more := reduce.Search(part, log, "needle"); len(hits) != 5 || !more {
		t.Errorf("in one: %d, %v", len(hits), more)
	}
}

// TestPage reads texts page by page.
func TestPage(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("a", reduce.PageBytes),
		strings.Repeat("a", reduce.PageBytes+1), strings.Repeat("é漢🙂", 3000),
		strings.Repeat("\xbf", 20_000)} {
		read, at := "", 0
		for range 10 {
			page, next := reduce.Page(text, at)
			if len(page) > reduce.PageBytes || utf8.ValidString(text) && !utf8.ValidString(page) {
				t.Fatalf("a page of %d bytes", len(page))
			}
			read, at = text[:next-len(page)]+page, next
			if next == len(text) {
				break
			}
		}
		if read != text {
			t.Errorf("%d bytes of %d", len(read), len(text))
		}
	}
	if page, next := reduce.Page("aé", 2); page != "é" || next != 3 {
		t.Errorf("in a character: %q, %d", page, next)
	}
	for _, offset := range []int{-1, 3, 99} {
		if _, next := reduce.Page("abc", offset); next != 3 {
			t.Errorf("at %d: %d", offset, next)
		}
	}
}

// TestLeaks refuses stubs in what is to stand by itself, and takes what only quotes them.
func TestLeaks(t *testing.T) {
	list, log := someLog(t)
	items, err := reduce.View(list, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := reduce.Leaks(list, log); err != nil {
		t.Error(err)
	}
	for _, i := range items {
		err := reduce.Leaks(one(said(message.User, "hm"), i.Message), log)
		if (err != nil) != (len(i.Records) > 0) {
			t.Fatalf("%+v: %v", i, err)
		}
		if err != nil && !strings.Contains(err.Error(), "reduction "+i.Records[0].ID+": its stub") {
			t.Error(err)
		}
	}
	quotes := conversation(one(said(message.Assistant, log[0].Placeholder)),
		asked("a", "f", `{"text":"`+log[1].Placeholder+`"}`, "I see\n"+log[2].Placeholder+"\nthere"))
	if err := reduce.Leaks(quotes, log); err != nil {
		t.Error(err)
	}
	for _, r := range log { // a tool, too, may say what it has read, such as this very conversation
		said := asked("z", "f", `{"reduced":"`+r.Placeholder+`"}`, "it says\n"+r.Placeholder)
		if err := reduce.Leaks(conversation(list, said), log); err != nil {
			t.Error(err)
		}
	}
}
