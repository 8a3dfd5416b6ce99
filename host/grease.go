package host

import "github.com/wasmagent/wasmagent/abi"

// greaseKeys are what Policy.Grease adds to a request: values of all kinds, under keys that are
// close to the real ones.
var greaseKeys = func() []byte {
	var b []byte
	key := func(name string) { b = abi.AppendString(b, name) }
	key("Input")
	b = abi.AppendMapHeader(b, 2)
	b = abi.AppendUint(abi.AppendString(b, "v"), 1<<64-1)
	b = abi.AppendArrayHeader(abi.AppendNil(b), 1)
	b = abi.AppendTimestamp(b, 1<<40, 999_999_999)
	key("")
	b = abi.AppendFloat64(b, -0.5)
	key("tool.name")
	b = abi.AppendBin(b, []byte{0xc1})
	key("host_")
	b = abi.AppendBool(b, true)
	return b
}()

const greaseCount = 4

// grease puts them in front of a coded request's own keys. A request has 8 at most, so that the
// first byte still holds the number of all.
func grease(request []byte) []byte {
	greased := append([]byte{request[0] + greaseCount}, greaseKeys...)
	return append(greased, request[1:]...)
}
