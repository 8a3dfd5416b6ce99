package schema

import (
	"fmt"
	"strings"
	"testing"
)

// Of many fields only the first are named to who gave an unknown one.
func TestUnknownFieldLimit(t *testing.T) {
	for n, want := range map[int]string{maxFields: `"f19"`, maxFields + 1: `"f19" and 1 more`} {
		fields := make([]string, n)
		for i := range fields {
			fields[i] = fmt.Sprintf(`"f%02d":{}`, i)
		}
		s, err := Compile(`{"properties":{` + strings.Join(fields, ",") +
			`},"additionalProperties":false}`)
		if err != nil {
			t.Fatal(err)
		}
		v, err := pack(`{"x":1}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Check(v); got == nil || !strings.HasSuffix(got.Error(), want) {
			t.Errorf("%d fields: %v, want … %s", n, got, want)
		}
	}
}
