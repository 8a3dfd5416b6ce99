// Plugin reflective uses methods by names that only its input tells, so that its linker keeps all
// exported methods that it meets. It needs nothing.
package main

import (
	"strings"
	"text/template"

	"github.com/wasmagent/wasmagent/pdk"
)

type input struct {
	Template string `json:"template"`
}

func init() {
	pdk.Plugin("reflective", "1.0.0")
	pdk.Register(pdk.Tool{Name: "fill"}, func(c *pdk.Call, in input) (string, error) {
		t, err := template.New("").Parse(in.Template)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = t.Execute(&b, struct{ ID string }{c.ID})
		return b.String(), err
	})
}

func main() {}
