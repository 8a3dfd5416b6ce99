package plugins_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// fixed is a tool that costs nothing, so that a benchmark shows what the registry adds.
type fixed struct {
	spec abi.ToolSpec
	out  plugins.Output
}

func (f *fixed) Spec() abi.ToolSpec { return f.spec }
func (f *fixed) Invoke(context.Context, plugins.Call) (plugins.Output, error) {
	return f.out, nil
}

// orderSchema and order are arguments as agents send them: 500 bytes.
const orderSchema = `{"type":"object","additionalProperties":false,
"required":["id","customer","lines"],"properties":{
"id":{"type":"string","minLength":1,"maxLength":64},
"customer":{"type":"object","required":["name","email"],"properties":{
	"name":{"type":"string"},"email":{"type":"string"},"vip":{"type":["boolean","null"]}}},
"currency":{"enum":["EUR","USD","GBP"]},
"note":{"type":"string","maxLength":500},
"lines":{"type":"array","minItems":1,"items":{"type":"object",
	"required":["sku","count"],"properties":{"sku":{"type":"string"},
	"count":{"type":"integer","minimum":1,"maximum":999},"price":{"type":"number"}}}}}}`

var order = json.RawMessage(`{"id":"order-2026-000017","customer":{"name":"Ada Lovelace",` +
	`"email":"ada@example.org","vip":true},"currency":"EUR","note":"Please deliver before noon; ` +
	`the bell is broken, so knock on the door and wait for somebody to come down the stairs.",` +
	`"lines":[{"sku":"A-1001","count":2,"price":19.99},{"sku":"A-1002","count":1,"price":5},` +
	`{"sku":"B-2210","count":12,"price":0.75},{"sku":"C-0007","count":1,"price":120.5},` +
	`{"sku":"C-0008","count":3,"price":42}, {"sku":"D-4711","count":40,"price":1.25}]}`)

func benchmarkCall(b *testing.B, spec abi.ToolSpec, opts *plugins.Options) {
	spec.Name = "order"
	tool := &fixed{spec, plugins.Output{Value: json.RawMessage(`{"ok":true}`)}}
	r := plugins.NewRegistry(opts)
	if err := r.Add(tool); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.SetBytes(int64(len(order)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Call(ctx, plugins.Call{ID: "c", Tool: "order", Input: order}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is what the registry adds to a call: at most 5 µs with a schema, and nothing
// allocated unless it has a rare keyword or the call a key.
func BenchmarkCall(b *testing.B) {
	b.Run("any object", func(b *testing.B) { benchmarkCall(b, abi.ToolSpec{}, nil) })
	b.Run("schema", func(b *testing.B) {
		benchmarkCall(b, abi.ToolSpec{InputSchema: orderSchema}, nil)
	})
	b.Run("both schemas", func(b *testing.B) {
		benchmarkCall(b, abi.ToolSpec{InputSchema: orderSchema,
			OutputSchema: `{"type":"object","properties":{"ok":{"type":"boolean"}}}`}, nil)
	})
	b.Run("rare schema", func(b *testing.B) {
		benchmarkCall(b, abi.ToolSpec{InputSchema: `{"allOf":[` + orderSchema +
			`],"propertyNames":{"maxLength":9}}`}, nil)
	})
	b.Run("key", func(b *testing.B) {
		benchmarkCall(b, abi.ToolSpec{InputSchema: orderSchema}, &plugins.Options{
			Rules: map[string]plugins.Rule{"order": {Key: "id"}}, Ledger: new(ledger.Memory)})
	})
}
