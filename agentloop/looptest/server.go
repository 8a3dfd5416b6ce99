package looptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Answer is what a Server answers one request with. Its zero value says nothing and stops.
type Answer struct {
	Text, Reasoning string
	Calls           []message.Call // with IDs of their own
	Finish          message.Finish // default: for calls, tool_calls, else stop
	Usage           message.Usage

	Status int               // default: 200. Another one makes Text the message of an error.
	Header map[string]string // more headers
	Body   string            // the whole body, in place of one that is made
	Break  string            // the message of an error that ends a stream before its finish
	Cut    int               // bytes of the body after which the connection is broken off; 0: none
	Close  bool              // break off the connection without an answer
	Hang   bool              // answer nothing until the client is gone
}

// Asked is a request that a Server got.
type Asked struct {
	Path   string
	Header http.Header
	Body   json.RawMessage
}

// Server is a model without a model: it speaks Chat Completions at URL/v1/chat/completions,
// OpenAI's Responses at URL/v1/responses and Anthropic's Messages at URL/v1/messages, streamed and
// not, and answers one request after another with what it has been given. A request that the real
// APIs would refuse (a call without its result, a missing limit) gets their status 400, and so does
// one too many.
type Server struct {
	URL string

	mu      sync.Mutex
	answers []Answer
	asked   []Asked
}

// NewServer starts a server on a loopback address. It stops when the test ends.
func NewServer(tb testing.TB, answers ...Answer) *Server {
	s := &Server{answers: answers}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.handler(openAI{}))
	mux.HandleFunc("POST /v1/responses", s.handler(responses{}))
	mux.HandleFunc("POST /v1/messages", s.handler(anthropic{}))
	h := httptest.NewServer(mux)
	s.URL = h.URL
	tb.Cleanup(func() {
		h.CloseClientConnections() // one of them may be left hanging
		h.Close()
	})
	return s
}

// Asked lists the requests that came, the oldest first.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// api is one of those that a server speaks.
type api interface {
	// check reads a request and finds what the real API would refuse.
	check(header http.Header, body []byte) (asked, error)

	whole(asked, *Answer) any
	events(asked, *Answer) []event
	failure(status int, text string) any
}

// asked is what matters of a request.
type asked struct {
	Model   string
	Stream  bool
	Options struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`

	n int // which of the server's requests it is, from 1
}

// event is one of a streamed answer. A string is sent as it is, anything else as JSON.
type event struct {
	name string
	data any
}

func (s *Server) handler(a api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		answer, n := s.next(r, body)
		req, err := a.check(r.Header, body)
		req.n = n
		switch {
		case err != nil:
			answer = &Answer{Status: http.StatusBadRequest, Text: err.Error()}
		case answer == nil:
			answer = &Answer{Status: http.StatusBadRequest, Text: "the script of this server has ended"}
		}
		answer.write(w, r, a, req)
	}
}

func (s *Server) next(r *http.Request, body []byte) (answer *Answer, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, Asked{r.URL.Path, r.Header.Clone(), body})
	if len(s.answers) > 0 {
		answer = &s.answers[0]
		s.answers = s.answers[1:]
	}
	return answer, len(s.asked)
}

func (answer *Answer) write(w http.ResponseWriter, r *http.Request, a api, req asked) {
	if answer.Hang {
		<-r.Context().Done()
	}
	if answer.Hang || answer.Close {
		panic(http.ErrAbortHandler)
	}
	out := &cutter{w: w, left: answer.Cut}
	status := answer.Status
	if status == 0 {
		status = http.StatusOK
	}
	streamed := req.Stream && status == http.StatusOK
	w.Header().Set("Content-Type", "application/json")
	if streamed {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for name, value := range answer.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	switch {
	case answer.Body != "":
		out.write(answer.Body)
	case status != http.StatusOK:
		out.write(text(a.failure(status, answer.Text)))
	case !streamed:
		out.write(text(a.whole(req, answer)))
	default:
		for _, e := range a.events(req, answer) {
			if e.name != "" {
				out.write("event: " + e.name + "\n")
			}
			out.write("data: " + text(e.data) + "\n\n")
		}
	}
}

// cutter breaks off a connection after some bytes.
type cutter struct {
	w    http.ResponseWriter
	left int // 0: no limit
}

func (c *cutter) write(s string) {
	over := c.left > 0 && len(s) >= c.left
	if over {
		s = s[:c.left]
	}
	_, _ = io.WriteString(c.w, s) // a client that is gone misses nothing
	c.w.(http.Flusher).Flush()
	if over {
		panic(http.ErrAbortHandler)
	}
	if c.left > 0 {
		c.left -= len(s)
	}
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // all of it is made here
	}
	return string(b)
}

// pieceSize is how many characters a streamed text or arguments come at a time.
const pieceSize = 7

func pieces(s string) []string {
	var list []string
	for chunk := range slices.Chunk([]rune(s), pieceSize) {
		list = append(list, string(chunk))
	}
	return list
}

// checkCalls finds a call that has no result where the results are, and a result without a call.
func checkCalls(calls, results []string) error {
	slices.Sort(calls)
	slices.Sort(results)
	if !slices.Equal(calls, results) {
		return fmt.Errorf("the calls [%s] have the results [%s]", strings.Join(calls, " "),
			strings.Join(results, " "))
	}
	return nil
}
