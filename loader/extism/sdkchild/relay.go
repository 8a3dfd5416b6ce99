package sdkchild

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/loader/extism/internal/sdkwire"
)

// useRelay makes the SDK's client, which is everybody's in this process, ask the host for responses.
// What the host gives is the end of all redirects, each of which it has checked.
func useRelay(s *server) {
	http.DefaultClient = &http.Client{
		Transport: relay{s},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

type relay struct{ server *server }

// RoundTrip implements http.RoundTripper.
func (r relay) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := egress.Request{Method: req.Method, URL: req.URL.String()}
	for name, values := range req.Header {
		for _, value := range values {
			asked.Headers = append(asked.Headers, egress.Header{Name: name, Value: value})
		}
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	if err := r.server.send(sdkwire.Fetch, &asked, body); err != nil {
		return nil, err
	}
	f, ok := <-r.server.frames
	if !ok {
		return nil, errors.New("the host is gone")
	}
	var answer sdkwire.Answer
	if err := f.Expect(sdkwire.Fetched, &answer); err != nil {
		return nil, err
	}
	if answer.Failure != nil {
		return nil, answer.Failure
	}
	resp := &http.Response{StatusCode: answer.Status, Header: http.Header{}, Request: req,
		Body: io.NopCloser(bytes.NewReader(f.Body)), ContentLength: int64(len(f.Body))}
	for _, h := range answer.Headers {
		resp.Header.Add(h.Name, h.Value)
	}
	return resp, nil
}
