package transcode_test

import (
	"fmt"

	"github.com/wasmagent/wasmagent/abi/transcode"
)

func Example() {
	m, err := transcode.AppendMsgpack(nil, []byte(`{"id": 9007199254740993, "share": 0.5}`))
	fmt.Printf("%x %v\n", m, err)
	j, err := transcode.AppendJSON(nil, m)
	fmt.Printf("%s %v\n", j, err)

	_, err = transcode.AppendMsgpack(nil, []byte(`{"id": 1, "id": 2}`))
	fmt.Println(err)
	_, err = transcode.AppendJSON(nil, []byte("\x81\xa5price\xca\x7f\xc0\x00\x00"))
	fmt.Println(err)
	fmt.Println(transcode.Scan([]byte("\xdd\xff\xff\xff\xff"), transcode.MaxSmallNodes))
	// Output:
	// 82a26964cf0020000000000001a57368617265cb3fe0000000000000 <nil>
	// {"id":9007199254740993,"share":0.5} <nil>
	// at byte 10: the key "id" comes twice in a map
	// $.price: a number is not finite
	// byte 0 of the msgpack: 4294967295 values are declared and 0 bytes follow
}
