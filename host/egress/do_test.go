package egress

import (
	"io"
	"net/http"
	"testing"
)

func TestDo(t *testing.T) {
	w := newWorld(t)
	port := w.https(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Saw", r.Method+" "+r.RequestURI+" "+r.Header.Get("X-Guest"))
		rw.WriteHeader(http.StatusTeapot)
		_, _ = rw.Write(append([]byte("got "), body...))
	})
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}})
	resp, err := c.Do(t.Context(), &Request{Method: "POST", URL: address("https", "A.test.", port,
		"/x/../é?q=ü#fragment"), Headers: []Header{{"x-guest", "1"}}, Body: []byte("body")})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != 418 || string(resp.Body) != "got body" || resp.Truncated ||
		resp.header("X-Saw") != "POST /%C3%A9?q=%C3%BC 1" ||
		resp.URL != address("https", "a.test", port, "/%C3%A9?q=%C3%BC") {
		t.Errorf("%+v", resp)
	}
}
