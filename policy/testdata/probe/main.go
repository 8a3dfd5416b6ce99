// Plugin probe does what its caller says, as far as it can: it is the guest of the tests of what an
// operator decides.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk"
)

type input struct {
	Do   string `json:"do"`
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
}

func init() {
	pdk.Plugin("probe", "1.0.0")
	pdk.Needs(abi.Needs{
		HTTP: []abi.HTTPNeed{{Host: "*.test", Optional: true}}, KV: &abi.KVNeed{Optional: true},
	})
	pdk.Register(pdk.Tool{Name: "probe", Effect: pdk.Read}, probe)
	pdk.Register(pdk.Tool{Name: "other", Effect: pdk.Idempotent}, probe)
}

func main() {}

func probe(c *pdk.Call, in input) (string, error) {
	switch in.Do {
	case "spin":
		for {
		}
	case "keep": // memory
		kept = bytes.Repeat([]byte("x"), in.N)
		return "kept", nil
	case "say":
		return strings.Repeat("x", in.N), nil
	case "print":
		fmt.Print(strings.Repeat(in.Text, in.N))
		return "printed", nil
	case "log":
		for range in.N {
			c.Info("line")
		}
		return "logged", nil
	case "get":
		r, err := pdk.HTTP(c).Get(in.Text)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %v %s", r.Status, r.Truncated, r.Body), nil
	case "post":
		r, err := pdk.HTTP(c).Do(&pdk.Request{
			Method: "POST", URL: in.Text, Body: bytes.Repeat([]byte("x"), in.N),
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %v %s", r.Status, r.Truncated, r.Body), nil
	case "header":
		r, err := pdk.HTTP(c).Do(&pdk.Request{URL: in.Text,
			Headers: []pdk.Header{{Name: "X-Long", Value: strings.Repeat("x", in.N)}}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(r.Status), nil
	case "remember": // n keys
		for i := range in.N {
			if err := pdk.KV(c).Set(fmt.Sprintf("key%d", i), in.Text); err != nil {
				return "", err
			}
		}
		return "remembered", nil
	case "recall":
		var v string
		_, err := pdk.KV(c).Get("key0", &v)
		return v, err
	case "read":
		b, err := os.ReadFile(in.Text)
		return string(b), err
	case "write":
		return "written", os.WriteFile(in.Text, bytes.Repeat([]byte("x"), in.N), 0o644)
	case "files":
		for i := range in.N {
			if err := os.WriteFile(fmt.Sprintf("%s/f%d", in.Text, i), nil, 0o644); err != nil {
				return "", err
			}
		}
		return "made", nil
	case "env":
		return strings.Join(os.Environ(), "\n"), nil
	case "config":
		var v any
		ok, err := c.Config(in.Text, &v)
		return fmt.Sprintf("%v %v", ok, v), err
	}
	return "", pdk.InvalidInput("/do", "there is no such thing to do")
}

var kept []byte
