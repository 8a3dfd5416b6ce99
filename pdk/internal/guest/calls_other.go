//go:build !wasip1

package guest

import "github.com/wasmagent/wasmagent/abi"

// Granter is a Host that plays what is granted, too. It is an interface apart, and HTTP and KV are
// functions, so that a plugin that uses neither imports neither: a linker that meets reflection
// keeps all methods.
type Granter interface {
	HTTP(q *abi.HTTPRequest) (*abi.HTTPResponse, error)
	KV(q *abi.KVRequest) (abi.KVAnswer, error)
}

// HTTP sends a request.
func HTTP(h Host, q *abi.HTTPRequest) (*abi.HTTPResponse, error) { return h.(Granter).HTTP(q) }

// KV uses the key-value space.
func KV(h Host, q *abi.KVRequest) (abi.KVAnswer, error) { return h.(Granter).KV(q) }
