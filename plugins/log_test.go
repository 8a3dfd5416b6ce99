package plugins_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestLog: a call is one line, at the level that its fault deserves.
func TestLog(t *testing.T) {
	broken := &plugins.ToolError{Kind: plugins.ErrMalformedResult,
		Err: &plugins.MalformedError{Name: "bad_msgpack", Detail: "cut off", Offset: -1}}
	tests := []struct {
		name, input string
		err         error
		want        string
	}{
		{"result", "{}", nil, `level=DEBUG msg=call tool=look call=c attempts=1 copied=false`},
		{"failure", "{}", errDown, `level=DEBUG msg=call tool=look call=c fault=world kind=handler ` +
			`cause=failed attempts=3 err="tool \"look\": handler (failed) after 3 attempts: the bank ` +
			`is down"`},
		{"broken tool", "{}", broken, `level=WARN msg=call tool=look call=c fault=tool ` +
			`kind=malformed_result cause=bad_msgpack attempts=1 err="tool \"look\": malformed_result ` +
			`(bad_msgpack): cut off"`},
		{"wrong arguments", "7", nil, `level=DEBUG msg=call tool=look call=c fault=caller ` +
			`kind=invalid_input cause=schema attempts=0 err="tool \"look\": invalid_input (schema): ` +
			`at the top: want an object, have a number"`},
		{"host", "{}", plugins.HostFault(errDown), `level=ERROR msg=call tool=look call=c fault=host ` +
			`kind=host cause="" err="the bank is down"`},
	}
	for _, test := range tests {
		var b bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Value.Kind() == slog.KindTime || a.Value.Kind() == slog.KindDuration {
					return slog.Attr{}
				}
				return a
			}}))
		r := registry(t, &plugins.Options{Logger: logger, RetryWait: 1},
			replies("look", abi.EffectRead, value("1"), test.err))
		r.Call(t.Context(), plugins.Call{ID: "c", Tool: "look", Input: []byte(test.input)})
		if got := strings.TrimSuffix(b.String(), "\n"); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
}
