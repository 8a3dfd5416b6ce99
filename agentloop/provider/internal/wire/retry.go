package wire

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// failure is a try that gave nothing.
type failure struct {
	err   error
	after time.Duration // what the provider asks to wait; -1: it does not say
	final bool          // part of the answer has been used, or no try can do better
}

// passing tells whether the reason may pass.
func (f *failure) passing() bool {
	if f.final {
		return false
	}
	if refused, ok := errors.AsType[*provider.StatusError](f.err); ok {
		return passingStatus(refused.Status)
	}
	_, ok := errors.AsType[*provider.HTTPError](f.err)
	return ok
}

func passingStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly,
		http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryAfter is how long the provider asks to wait, or -1.
func retryAfter(h http.Header) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	text := h.Get("Retry-After")
	if d, ok := number(text, time.Second); ok {
		return d
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(date))
	}
	return -1
}

// number reads a time that is not negative. One past all limits is MaxWait, whatever it is.
func number(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(provider.MaxWait))), true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
