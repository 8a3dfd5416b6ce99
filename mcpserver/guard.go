package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/sync/semaphore"
)

// guard decides which requests get to the protocol at all.
type guard struct {
	refusals *refusals
	tokens   tokens
	hosts    []string
	onlyOwn  bool // requests from this machine only
}

func newGuard(refusals *refusals, h HTTP) (*guard, error) {
	g := &guard{refusals: refusals, onlyOwn: h.NoAuth}
	for _, host := range h.Hosts {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	switch {
	case h.NoAuth && h.Granted:
		return nil, errors.New("without a token everybody on this machine could use what the tools " +
			"were granted: use a token")
	case h.NoAuth && len(h.Tokens) > 0:
		return nil, errors.New("a token and no authentication: want one of them")
	case !h.NoAuth && len(h.Tokens) == 0:
		return nil, errors.New("a token is missing")
	}
	for _, token := range h.Tokens {
		if err := checkToken(token); err != nil {
			return nil, err
		}
		g.tokens = append(g.tokens, sha256.Sum256([]byte(token)))
	}
	return g, nil
}

// admit lets in requests that address this server by a name of its own and that no page of another
// site has sent.
func (g *guard) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why, then := "", ""
		switch {
		case g.onlyOwn && !isLocal(r):
			why, then = "only for this machine", "others need a token"
		case !g.knows(r.Host):
			why, then = "unknown host", "the server has to be started with this name: --host NAME"
		case !sameOrigin(r):
			why, then = "foreign origin", "pages of other sites may not use this server"
		}
		if why != "" {
			g.refusals.warn("request refused: "+why, "then", then, "host", logged(r.Host),
				"origin", logged(strings.Join(r.Header.Values("Origin"), ", ")), "from", r.RemoteAddr)
			http.Error(w, why+": "+then, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// howToken is what one does about a token that is missing or wrong.
const howToken = "send Authorization: Bearer TOKEN, with the token from the file that the server " +
	"names when it starts"

// authenticate lets in requests with a token.
func (g *guard) authenticate(next http.Handler) http.Handler {
	verify := func(_ context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		owner := g.tokens.owner(token)
		if owner == "" {
			g.refusals.warn("request refused: wrong token", "then", howToken, "from", r.RemoteAddr)
			return nil, fmt.Errorf("%w: %s", auth.ErrInvalidToken, howToken)
		}
		return &auth.TokenInfo{UserID: owner}, nil
	}
	passed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del("Www-Authenticate")
		next.ServeHTTP(w, r)
	})
	check := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
		AllowMissingExpiration: true,
	})(passed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Www-Authenticate", "Bearer")
		if word, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); token == "" ||
			!strings.EqualFold(word, "Bearer") {
			g.refusals.warn("request refused: no token", "then", howToken, "from", r.RemoteAddr)
			http.Error(w, "no token: "+howToken, http.StatusUnauthorized)
			return
		}
		check.ServeHTTP(w, r)
	})
}

// isLocal reports whether a request came in at a loopback address. One of which that is not known
// did not.
func isLocal(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && CheckAddr(addr.String()) == nil
}

// knows reports whether a Host header names this server.
func (g *guard) knows(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	host = strings.ToLower(host)
	return isLoopback(host) || slices.Contains(g.hosts, host)
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// sameOrigin reports whether a request has no Origin, as of a program that is no browser, or that
// of this very server.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	return len(origins) == 1 &&
		(origins[0] == "http://"+r.Host || origins[0] == "https://"+r.Host)
}

// bounded bounds how many requests there are at once and how long their peers may take.
func bounded(next http.Handler) http.Handler {
	requests := semaphore.NewWeighted(MaxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !requests.TryAcquire(1) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		defer requests.Release(1)
		next.ServeHTTP(patience{w, http.NewResponseController(w)}, r)
	})
}

// parseError is JSON-RPC's answer to what is no JSON.
const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`

// noBatch is its answer to several messages in one request, which neither era of the protocol has:
// thousands of them would pass where the limits count requests.
const noBatch = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":` +
	`"batches are not served: send each message on its own"}}`

// noRequest is its answer to JSON that is no message of it.
const noRequest = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`

// earlyAnswer is the answer to a request before initialize, which would begin a session without one;
// nil for others. The protocol's library answers without a code.
func earlyAnswer(body []byte) []byte {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &m) != nil || m.ID == nil || !strings.HasPrefix(m.Method, "tools/") ||
		m.Params.Meta["io.modelcontextprotocol/protocolVersion"] != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":%q}}`, m.ID,
		"there is no session: send initialize first")
}

// readBody reads a request's body, whole and in time, and makes sure that it is JSON, one message,
// and not too deep for those who decode it recursively. It reports whether to go on; if not, it has
// answered.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		return true
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(ReadBodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	_ = control.SetReadDeadline(time.Time{})
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		http.Error(w, tooLarge.Error(), http.StatusRequestEntityTooLarge)
		return false
	}
	if err != nil {
		http.Error(w, "the body did not arrive", http.StatusBadRequest)
		return false
	}
	if !json.Valid(body) {
		refuseBody(w, parseError)
		return false
	}
	if bytes.TrimLeft(body, " \t\r\n")[0] == '[' {
		refuseBody(w, noBatch)
		return false
	}
	if r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Protocol-Version") < statelessFrom {
		if answer := earlyAnswer(body); answer != nil {
			refuseBody(w, string(answer))
			return false
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

func refuseBody(w http.ResponseWriter, answer string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, answer)
}
