package wire

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for _, tt := range []struct {
			header http.Header
			want   time.Duration
		}{
			{http.Header{}, -1},
			{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
			{http.Header{"Retry-After": {"0.5"}}, time.Second / 2},
			{http.Header{"Retry-After": {"0"}}, 0},
			{http.Header{"Retry-After": {"-1"}}, -1},
			{http.Header{"Retry-After": {"NaN"}}, -1},
			{http.Header{"Retry-After": {"soon"}}, -1},
			{http.Header{"Retry-After": {"1e300"}}, provider.MaxWait},
			{http.Header{"Retry-After": {in(9 * time.Second)}}, 9 * time.Second},
			{http.Header{"Retry-After": {in(-time.Hour)}}, 0},
			{http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"1500"}},
				1500 * time.Millisecond},
			{http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"x"}}, 7 * time.Second},
		} {
			if have := retryAfter(tt.header); have != tt.want {
				t.Errorf("%v: have %v, want %v", tt.header, have, tt.want)
			}
		}
	})
}

func TestPassing(t *testing.T) {
	for status, want := range map[int]bool{0: false, 301: false, 400: false, 401: false, 404: false,
		408: true, 409: true, 422: false, 425: true, 429: true, 500: true, 503: true, 529: true} {
		f := &failure{err: &provider.StatusError{Status: status}}
		if f.passing() != want {
			t.Errorf("%d: have %v", status, !want)
		}
	}
	for err, want := range map[error]bool{
		&provider.HTTPError{Err: errors.New("x")}: true,
		Broken("x"):             false,
		errors.New("something"): false,
	} {
		if f := (&failure{err: err}); f.passing() != want {
			t.Errorf("%v: have %v", err, !want)
		}
		if f := (&failure{err: err, final: true}); f.passing() {
			t.Errorf("%v: is final, and is tried again", err)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := sleep(ctx, time.Hour); err != gone {
		t.Errorf("have %v", err)
	}
}
