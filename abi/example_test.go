package abi_test

import (
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
)

// A guest reads its request, works, and writes its reply.
func Example() {
	request := abi.AppendRequest(nil, &abi.Request{
		Tool:  "double",
		Input: abi.AppendInt(nil, 21),
	})

	q, err := abi.ParseRequest(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := abi.NewReader(q.Input).Int()
	if err != nil {
		fmt.Println(err)
		return
	}
	reply := abi.AppendReply(nil, &abi.Reply{
		Outcome: abi.OutcomeOK,
		Value:   abi.AppendInt(nil, 2*n),
	})

	p, err := abi.ParseReply(reply)
	fmt.Printf("%s: % x, %v\n", q.Tool, p.Value, err)
	// Output: double: 2a, <nil>
}

// A list, and a map inside it, are headers followed by their values.
func ExampleReader() {
	b := abi.AppendArrayHeader(nil, 2)
	b = abi.AppendString(b, "sizes")
	b = abi.AppendMapHeader(b, 1)
	b = abi.AppendString(b, "small")
	b = abi.AppendInt(b, 3)

	r := abi.NewReader(b)
	r.Array()
	name, _ := r.Str()
	fmt.Println(name, "is followed by", r.Kind())
	_, err := r.Int()
	fmt.Println(err)
	// Output:
	// sizes is followed by a map
	// byte 7: want an integer, have a map
}
