package guest

import "github.com/wasmagent/wasmagent/abi"

//go:wasmimport wasmagent_v1 http
func http(request string) (size uint32)

//go:wasmimport wasmagent_v1 kv
func kv(request string) (size uint32)

// HTTP sends a request through the host.
func HTTP(_ Host, q *abi.HTTPRequest) (*abi.HTTPResponse, error) {
	a, err := abi.ParseHTTPResponse(answer(http(string(abi.AppendHTTPRequest(nil, q)))))
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// KV uses the key-value space of the host.
func KV(_ Host, q *abi.KVRequest) (abi.KVAnswer, error) {
	return abi.ParseKVAnswer(answer(kv(string(abi.AppendKVRequest(nil, q)))))
}
