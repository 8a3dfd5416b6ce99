package extism

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
)

// Limits of a request, in bytes. The policy's are lower, and apply as well.
const (
	MaxRequest     = 1 << 20  // of its JSON, without the body
	MaxRequestBody = 16 << 20 // which is copied before anything else is known of it
)

// request is what a guest says of a request.
type request struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
}

// noRules refuses every request, and says which rule would allow it.
var noRules = sync.OnceValue(func() *egress.Client {
	c, err := egress.New(nil)
	if err != nil {
		panic(err) // the defaults are good
	}
	return c
})

// refuseAll puts a door that tells what it refuses where the operator grants none: the guest can ask
// for nothing, so its operator learns from the refusal what it wants.
func refuseAll(p *host.Policy) {
	if p.Grants.HTTP == nil {
		p.Grants.HTTP = noRules()
	}
}

// httpRequest sends a request through the policy's rules.
func (c *call) httpRequest() {
	asked, body := c.text(c.stack[0]), c.text(c.stack[1])
	c.status, c.headers = 0, nil
	switch {
	case len(asked) > MaxRequest:
		c.Fail(tooLarge("http_request: a request of %d bytes, more than %d", len(asked), MaxRequest))
	case len(body) > MaxRequestBody:
		c.Fail(tooLarge("http_request: a body of %d bytes, more than %d", len(body), MaxRequestBody))
	}
	var q request
	if err := json.Unmarshal(asked, &q); err != nil {
		c.Fail(&abi.Failure{Message: "http_request: the request cannot be read: " + err.Error(),
			Permanent: true})
	}
	req := &egress.Request{URL: q.URL, Method: strings.ToUpper(q.Method), Body: slices.Clone(body)}
	if req.Method == "" {
		req.Method = "GET"
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) { // the same request each time
		req.Headers = append(req.Headers, egress.Header{Name: name, Value: q.Headers[name]})
	}
	c.mem.release(c.stack[0])
	c.mem.release(c.stack[1])
	c.stack[0] = 0
	resp, err := c.HTTP(req)
	if err != nil {
		c.Fail(failed("http_request", err))
	}
	if size := int64(len(resp.Body)); size > c.maxResponse {
		c.Fail(tooLarge("http_request: a response of %d bytes, and the plugin's manifest has %d for one",
			size, c.maxResponse))
	}
	c.status, c.headers = resp.Status, headersJSON(resp.Headers)
	if len(resp.Body) > 0 {
		c.stack[0] = c.put(resp.Body)
	}
}

// headersJSON is an object of the headers, with lower-case names and the values of each joined.
func headersJSON(list []egress.Header) []byte {
	all := map[string]string{}
	for _, h := range list {
		name := strings.ToLower(h.Name)
		if old, ok := all[name]; ok {
			h.Value = old + "," + h.Value
		}
		all[name] = h.Value
	}
	b, _ := json.Marshal(all) // strings always have a form
	return b
}

func (c *call) httpStatus() { c.stack[0] = uint64(uint32(c.status)) }

func (c *call) httpHeaders() {
	c.stack[0] = 0
	if c.status != 0 {
		c.stack[0] = c.put(c.headers)
	}
}
