// Package codec turns Go values into msgpack and back, by their types and json tags.
//
// It follows encoding/json where that has a rule, and differs where a plugin is better off: a nil
// slice or map is empty and not null, a nil pointer in a struct is left out, keys match exactly,
// and a required member that is missing is an error.
package codec
